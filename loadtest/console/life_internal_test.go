package console

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"orderstock/pkg/httpapi"
)

// TestOrderByHandWithoutAnOrderService: that none answers is an answer, also if all are dead or none is known.
func TestOrderByHandWithoutAnOrderService(t *testing.T) {
	dead := make([]string, 2)
	for i := range dead {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		dead[i] = "http://" + l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, urls := range [][]string{nil, dead} {
		c := testConsole(t)
		c.view = &view{}
		c.view.OrderURLs = urls
		placed, err := c.PlaceByHand(t.Context(), HandOrder{Items: []HandItem{{GoodsID: "1", Num: 1}}})
		refused, ok := errors.AsType[*httpapi.Problem](err)
		if !ok || refused.Status != http.StatusConflict {
			t.Errorf("with the order services %q an order is answered %+v, %v", urls, placed, err)
		}
	}
}
