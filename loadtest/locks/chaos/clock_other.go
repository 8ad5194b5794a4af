//go:build !unix

package chaos

import "time"

// Now reads the clock.
func Now() Moment { return Moment(time.Now().UnixNano()) }
