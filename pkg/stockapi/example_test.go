package stockapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"orderstock/pkg/stockapi"
)

// A caller decides by sentinel errors. The table maps them to and from the status
// and code of an answer.
func ExampleClient_Deduct() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":503,"code":"unavailable","detail":"not available in time"}`)
	}))
	defer service.Close()
	client, err := stockapi.NewClient([]string{service.URL}, "service-token")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	op, err := client.Deduct(context.Background(), "1234", []stockapi.Item{{GoodsID: "1001", Num: 2}})
	switch {
	case err == nil:
		fmt.Println(op.State)
	case errors.Is(err, stockapi.ErrUnavailable):
		fmt.Println("nothing changed; again after", stockapi.RetryAfter(err))
	case errors.Is(err, stockapi.ErrUnknownOutcome):
		fmt.Println("ask for the flag's outcome, or send the same flag again")
	}
	// Output: nothing changed; again after 1s
}
