package locktest_test

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// moment is a reading of the machine's monotonic clock, in nanoseconds: comparable over processes.
type moment int64

func now() moment {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("read the monotonic clock: %v", err)) // the clock always exists
	}
	return moment(ts.Nano())
}
