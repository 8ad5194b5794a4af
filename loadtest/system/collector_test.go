package system_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/system/systemtest"
)

// TestASilentCollectorFailsNoStop: both services, with spans that nobody takes, end with 0 within SHUTDOWN_TIMEOUT.
func TestASilentCollectorFailsNoStop(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	cfg := config(t)
	cfg.OrderEnv = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + silent.Addr().String()}
	cfg.StockEnv = cfg.OrderEnv
	st := systemtest.Start(t, cfg)
	send(t, st, "POST", st.Stocks[0].URL()+"/v1/stock/1/restock", `{"flag":"first","num":5}`)
	send(t, st, "POST", st.Orders[0].URL()+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
	for _, s := range st.Replicas() {
		stop, cancel := context.WithTimeout(t.Context(), 20*time.Second) // the default
		if err := s.Stop(stop); err != nil {
			t.Errorf("%s: %v", s.Name(), err)
		}
		cancel()
		log, err := os.ReadFile(s.LogPath())
		if err != nil || !strings.Contains(string(log), "end tracing") {
			t.Errorf("%s ended with no span left to send: %v\n%s", s.Name(), err, log)
		}
	}
}
