package httpapi_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
)

// A handler returns an error of its domain. The service's one table makes it a problem of RFC 9457.
func ExampleNewEngine() {
	errShort := errors.New("stock is short")
	engine := httpapi.NewEngine(slog.New(slog.DiscardHandler), httpapi.Options{
		Problem: func(err error) *httpapi.Problem {
			if errors.Is(err, errShort) {
				return httpapi.NewProblem(http.StatusConflict, "out_of_stock", "the stock is short")
			}
			return nil
		},
	})
	engine.POST("/orders", httpapi.Handle(func(c *gin.Context) error {
		var order struct {
			Num int `json:"num"`
		}
		if err := httpapi.Decode(c, &order); err != nil {
			return err
		}
		if order.Num > 3 {
			return errShort
		}
		c.JSON(http.StatusCreated, gin.H{"status": "CONFIRMED"})
		return nil
	}))
	for _, body := range []string{`{"num":2}`, `{"num":4}`, `{"number":1}`} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		engine.ServeHTTP(rec, req)
		fmt.Println(rec.Code, rec.Header().Get("Content-Type"))
	}
	// Output:
	// 201 application/json; charset=utf-8
	// 409 application/problem+json
	// 400 application/problem+json
}
