package ratelimit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of requests in a window of time; the zero value is no limit.
type Rate struct {
	limit  int64
	period time.Duration
}

var periods = map[string]time.Duration{"S": time.Second, "M": time.Minute, "H": time.Hour, "D": 24 * time.Hour}

// UnmarshalText reads a rate such as 100-S, 1000-M, 10000-H or 100000-D; empty: no limit.
func (r *Rate) UnmarshalText(text []byte) error {
	*r = Rate{}
	if len(text) == 0 {
		return nil
	}
	number, unit, _ := strings.Cut(string(text), "-")
	limit, err := strconv.ParseInt(number, 10, 64)
	period, ok := periods[strings.ToUpper(unit)]
	if err != nil || !ok || limit < 1 {
		return fmt.Errorf("%q is not a rate such as 100-S, 1000-M or 10000-H", text)
	}
	*r = Rate{limit, period}
	return nil
}

func (r Rate) String() string {
	for unit, period := range periods {
		if period == r.period {
			return fmt.Sprintf("%d-%s", r.limit, unit)
		}
	}
	return ""
}
