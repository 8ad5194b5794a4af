package stockapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// A caller decides by the code of the error.
func ExampleClient_Deduct() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":503,"code":"unavailable","detail":"not available in time"}`)
	}))
	defer service.Close()
	client, err := stockapi.NewClient([]string{service.URL}, stockapi.Config{Token: "service-token", Tries: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	op, err := client.Deduct(context.Background(), "1234", []operation.Item{{GoodsID: 1001, Num: 2}})
	switch operation.CodeOf(err) {
	case operation.Code{}:
		fmt.Println(op.State)
	case operation.ErrUnavailable:
		fmt.Println("nothing changed; again later")
	case operation.ErrUnknownOutcome:
		fmt.Println("ask for the flag's outcome, or send the same flag again")
	}
	// Output: nothing changed; again later
}
