package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// count is the number of requests in a window that ends after left.
type count struct {
	requests int64
	left     time.Duration
}

// increment counts a request. A counter without a time to live, which a crash of Redis can leave behind, or with one
// longer than the window, as after a change of the rate, gets the window's.
var increment = redis.NewScript(`
local requests = redis.call("INCRBY", KEYS[1], 1)
local left = redis.call("PTTL", KEYS[1])
local window = tonumber(ARGV[1])
if left < 0 or left > window then
	redis.call("PEXPIRE", KEYS[1], window)
	left = window
end
return {requests, left}
`)

// count counts a request under the key.
func (l *Limits) count(ctx context.Context, key string, window time.Duration) (count, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	eval := func() ([]int64, error) {
		return increment.EvalSha(ctx, l.client, []string{"ratelimit:" + key}, window.Milliseconds()).Int64Slice()
	}
	n, err := eval()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := increment.Load(ctx, l.client).Err(); err != nil {
			return count{}, fmt.Errorf("load the script: %w", err)
		}
		n, err = eval()
	}
	if err != nil {
		return count{}, fmt.Errorf("count a request: %w", err)
	}
	return count{n[0], time.Duration(n[1]) * time.Millisecond}, nil
}
