package console

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
)

// TestOrderByHandWithoutAnOrderService: that none answers is an answer, also if all are dead or none is known.
func TestOrderByHandWithoutAnOrderService(t *testing.T) {
	dead := make([]string, 2)
	for i := range dead {
		port, err := servers.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		dead[i] = fmt.Sprintf("http://127.0.0.1:%d", port)
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
