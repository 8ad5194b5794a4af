package orderhttp

import (
	"log/slog"
	"testing"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/operation"
)

// TestTheDescriptionIsOfThisCode: openapi.json names the routes and the fields that there are, and no others.
func TestTheDescriptionIsOfThisCode(t *testing.T) {
	t.Parallel()
	d := contracttest.Read(t, OpenAPI)
	d.Routes(t, New(nil, Config{}, slog.New(slog.DiscardHandler)).(*gin.Engine).Routes())
	d.Types(t, map[string]any{
		"OrderRequest": placeBody{}, "OrderRequestItem": operation.Item{}, "Order": orderBody{}, "OrderItem": orderItem{},
		"OrderPage": pageBody{}, "Problem": httpapi.Problem{},
	})
}

func TestAKeyMayBeQuoted(t *testing.T) {
	t.Parallel()
	for quoted, want := range map[string]string{
		`"8e03978e"`: "8e03978e", `"a\"b\\c"`: `a"b\c`, `"a;b"`: "a;b",
		`"`: "", `""`: "", `"a`: "", `"a"b`: "", `"a";p=1`: "", `"a\"`: "", `"a\b"`: "", `"a\`: "",
	} {
		key, err := unquote(quoted)
		if key != want || (err == nil) != (want != "") {
			t.Errorf("%s is read as %q, %v; want %q", quoted, key, err, want)
		}
	}
}
