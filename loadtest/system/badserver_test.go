package system_test

import (
	"net/http"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// TestOrdersOfManyProductsFitTheServersPackets fires 150 orders of up to 100 products at once, on a server that takes
// statements of 64 KiB. All must be answered as on any other.
func TestOrdersOfManyProductsFitTheServersPackets(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartMySQL, servers.Options{Args: []string{"--max-allowed-packet=65536"}})
	h := demoOn(t, server, fire.Config{
		Orders: 150, Concurrency: 150,
		Mix: fire.Mix{Goods: 100, Stock: 10_000, ItemsMax: 100, Several: 1, Repeat: 0.1, Cancel: 0.2},
	})
	for _, c := range h.Calls {
		if c.Code >= http.StatusInternalServerError || c.Failure != history.Answered {
			t.Fatalf("%+v", c)
		}
	}
}

// TestDemoOnABadServer runs the whole stack, with orders, repeats and cancellations, on a server whose administrator
// has chosen bad defaults for the session variables. The verdict must pass.
func TestDemoOnABadServer(t *testing.T) {
	t.Parallel()
	server, _ := serverstest.BadServer(t)
	demoOn(t, server, fire.Config{
		Orders: 600, Concurrency: 40, Mix: fire.Mix{Goods: 5, Stock: 150, ItemsMax: 3, Repeat: 0.1, Cancel: 0.2},
	})
}

// demoOn fires orders at a stack on the server. The verdict must pass.
func demoOn(t *testing.T, server *servers.MySQL, load fire.Config) *history.History {
	t.Helper()
	cfg := config(t)
	cfg.Servers.MySQL = server
	// A slow machine may take its time.
	cfg.OrderEnv = map[string]string{"STOCK_TIMEOUT": "20s", "CONFIRM_BUDGET": "20s", "PENDING_LIMIT": "40s"}
	cfg.StockEnv = map[string]string{"REQUEST_TIMEOUT": "20s"}
	st := systemtest.Start(t, cfg)
	load.Target, load.Timeout = st.Target(), 30*time.Second
	h, err := fire.Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Dead()) > 0 {
		t.Errorf("dead: %v", st.Dead())
	}
	v, err := verify.Run(t.Context(), verify.Config{Databases: st.Databases(), History: h})
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != verify.Pass || v.Confirmed < 100 {
		t.Errorf("%s", v)
	}
	return h
}
