package stockhttp_test

import (
	"testing"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stockhttp"
)

// TestTheDescriptionIsOfThisCode: openapi.json names exactly the routes and the fields of this code.
func TestTheDescriptionIsOfThisCode(t *testing.T) {
	t.Parallel()
	d := contracttest.Read(t, stockhttp.OpenAPI)
	d.Routes(t, stockhttp.New(nil, stockhttp.Config{}, stocktest.Quiet).(*gin.Engine).Routes())
	d.Types(t, map[string]any{
		"Item": stockapi.Item{}, "DeductRequest": stockapi.DeductRequest{}, "DeductAllRequest": stockapi.DeductAllRequest{},
		"Deduction": stockapi.Deduction{}, "DeductAnswer": stockapi.DeductAnswer{}, "Operation": stockapi.Operation{},
		"Flow": stockapi.Flow{}, "FlowsResponse": stockapi.FlowsResponse{}, "Goods": stockapi.Goods{},
		"StockResponse": stockapi.StockResponse{}, "RestockRequest": stockapi.RestockRequest{}, "Problem": httpapi.Problem{},
	})
}
