package orderhttp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
)

// Each client may send two requests a day. All replicas of a service count together, in Redis.
func ExampleLimits() {
	t, end := serverstest.Example()
	defer end()

	where := redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}, DB: serverstest.RedisDB(t)}
	log := slog.New(slog.DiscardHandler)
	limits := orderhttp.OpenLimits(orderhttp.LimitConfig{Redis: where, Timeout: 20 * time.Second, Log: log})
	defer func() { _ = limits.Close() }()
	var rate orderhttp.Rate
	if err := rate.UnmarshalText([]byte("2-D")); err != nil {
		fmt.Println(err)
		return
	}
	engine := httpapi.NewEngine(log, httpapi.Options{})
	engine.GET("/orders", limits.Limit("reads", rate), func(c *gin.Context) { c.Status(http.StatusNoContent) })
	for range 3 {
		rec := httptest.NewRecorder()
		engine.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/orders", nil))
		fmt.Println(rec.Code)
	}
	// Output:
	// 204
	// 204
	// 429
}
