package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/retry"
)

// A call that fails twice and then succeeds.
func ExampleDo() {
	tries := 0
	answer, err := retry.Do(context.Background(), retry.Policy{First: time.Millisecond, Max: time.Second},
		func() (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("not reachable")
			}
			return "done", nil
		})
	fmt.Println(answer, err, tries)
	// Output: done <nil> 3
}

// An error that another try cannot change ends the tries.
func ExampleStop() {
	errShort := errors.New("stock is short")
	tries := 0
	err := retry.Run(context.Background(), retry.Policy{First: time.Millisecond, Max: time.Second}, func() error {
		tries++
		return retry.Stop(errShort)
	})
	fmt.Println(err, tries, errors.Is(err, errShort))
	// Output: stock is short 1 true
}
