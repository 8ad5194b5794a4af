package locks

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// window is one measurement: contenders start together, and releases between the end of the
// warm-up and the end of the window count. The order to a process is a line of its numbers.
type window struct {
	start  int64 // milliseconds of Unix time
	warmup time.Duration
	length time.Duration
}

// count is a process's count of one window.
type count struct {
	// Acquired, Wakeups and ProcessorNS count over warm-up, window and the last acquisitions after it.
	Acquired    int64 `json:"acquired"`
	Wakeups     int64 `json:"wakeups"`
	ProcessorNS int64 `json:"processor_ns"`
	// Waits is a compressed histogram of nanoseconds from call to grant, of those released within the window; a Java
	// worker, which has no library for it, lists them one by one in WaitsNS.
	Waits   string  `json:"waits,omitempty"`
	WaitsNS []int64 `json:"waits_ns,omitempty"`
}

const longestWait = 2 * time.Minute

// newHistogram holds nanoseconds to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longestWait), 3) }

func record(h *hdrhistogram.Histogram, wait time.Duration) {
	_ = h.RecordValue(min(max(int64(wait), 1), int64(longestWait))) // fails for greater values only
}

func (r *count) histogram() (*hdrhistogram.Histogram, error) {
	if r.Waits != "" {
		return hdrhistogram.Decode([]byte(r.Waits))
	}
	h := newHistogram()
	for _, ns := range r.WaitsNS {
		record(h, time.Duration(ns))
	}
	return h, nil
}
