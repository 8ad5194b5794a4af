package judge

import (
	"sync"
	"time"
)

// numbers gives numbers that no other phase has: they follow a clock, as a number that is counted from 1 would be an
// earlier run's, too. In JSON, all of them are exact until the year 2255.
type numbers struct {
	unit time.Duration
	mu   sync.Mutex
	next int64
}

// serials are the values of {{serial}}, and orderNumbers the values of {{n}}. A phase takes longer than a millisecond,
// and an order longer than a microsecond, so a later process does not give the same.
var (
	serials      = numbers{unit: time.Millisecond}
	orderNumbers = numbers{unit: time.Microsecond}
)

// take returns the first of so many numbers in a row.
func (n *numbers) take(count int) (first int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first = max(n.next, time.Now().UnixNano()/int64(n.unit))
	n.next = first + int64(count)
	return first
}
