package batch_test

import (
	"context"
	"fmt"
	"sync"

	"orderstock/pkg/batch"
)

// Concurrent lookups become one query for many.
func ExampleFunc() {
	lookup := batch.Func(func(_ context.Context, ids []int) ([]string, error) {
		// SELECT … WHERE id IN (ids…): one round trip for all of them
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = fmt.Sprintf("goods-%d", id)
		}
		return names, nil
	})
	defer lookup.Close()

	name, err := lookup.Do(context.Background(), 1001)
	fmt.Println(name, err)
	// Output: goods-1001 <nil>
}

// The holder of a lock serves all calls that arrived while it waited for the lock.
func ExampleNew() {
	var lock sync.Mutex // stands for a lock that takes long to get
	left := 3
	deduct := batch.New(func(_ context.Context, take func() []*batch.Call[int, bool]) {
		lock.Lock()
		defer lock.Unlock()
		for _, call := range take() { // now, not before: the batch is as large as it can be
			enough := left >= call.In
			if enough {
				left -= call.In
			}
			call.Resolve(enough, nil)
		}
	})
	defer deduct.Close()

	for _, n := range []int{2, 2, 1} {
		ok, _ := deduct.Do(context.Background(), n)
		fmt.Println(n, ok)
	}
	// Output:
	// 2 true
	// 2 false
	// 1 true
}
