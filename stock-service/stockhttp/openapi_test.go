package stockhttp_test

import (
	"testing"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/operation"
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
		"Item": operation.Item{}, "DeductRequest": stockapi.DeductRequest{}, "DeductAllRequest": stockapi.DeductAllRequest{},
		"Deduction": stockapi.Deduction{}, "DeductAnswer": stockapi.DeductAnswer{}, "Operation": operation.Operation{},
		"Flow": operation.Flow{}, "FlowsResponse": stockapi.FlowsResponse{}, "Goods": operation.Goods{},
		"StockResponse": stockapi.StockResponse{}, "RestockRequest": operation.Restock{}, "Problem": httpapi.Problem{},
	})
}
