package snowid

import (
	"time"

	"github.com/bwmarrin/snowflake"
)

// timeShift is how many bits of an id lie below its time.
const timeShift = 22

// Time returns when the id was given, to the millisecond, by its giver's clock.
func Time(id int64) time.Time {
	return time.UnixMilli(id>>timeShift + snowflake.Epoch)
}

// FirstAt returns the lowest id that can be given at t: ids below it are older.
func FirstAt(t time.Time) int64 {
	return max(0, t.UnixMilli()-snowflake.Epoch) << timeShift
}
