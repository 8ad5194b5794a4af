package chaos

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Now reads the clock.
func Now() Moment {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("read the monotonic clock: %v", err)) // the clock always exists
	}
	return Moment(ts.Nano())
}
