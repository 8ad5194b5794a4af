package locks

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// window is one measurement: contenders start together, and releases between the end of the
// warm-up and the end of the window count.
type window struct {
	start  time.Time
	warmup time.Duration
	length time.Duration
}

// result is a worker's count of one window.
type result struct {
	// Ops counts the acquisitions that were released within the window.
	Ops int64 `json:"ops"`
	// Acquired and Wakeups count over warm-up, window and the last acquisitions after it.
	Acquired int64 `json:"acquired"`
	Wakeups  int64 `json:"wakeups"`
	// Waits is a compressed histogram of nanoseconds from call to grant; a Java worker, which has no
	// library for it, lists them one by one in WaitsNS.
	Waits   string  `json:"waits,omitempty"`
	WaitsNS []int64 `json:"waits_ns,omitempty"`
}

const longestWait = 2 * time.Minute

// newHistogram holds nanoseconds to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longestWait), 3) }

func record(h *hdrhistogram.Histogram, wait time.Duration) error {
	return h.RecordValue(min(max(int64(wait), 1), int64(longestWait)))
}

func (r result) histogram() (*hdrhistogram.Histogram, error) {
	if r.Waits != "" {
		return hdrhistogram.Decode([]byte(r.Waits))
	}
	h := newHistogram()
	for _, ns := range r.WaitsNS {
		if err := record(h, time.Duration(ns)); err != nil {
			return nil, err
		}
	}
	return h, nil
}
