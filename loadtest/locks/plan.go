package locks

import (
	"fmt"
	"slices"
	"time"
)

// Plan lists the measurements and their length.
type Plan struct {
	// Locks are some of Names.
	Locks []string
	// Shapes of contention, as processes x contenders x paths: "4x64x1".
	Shapes []string
	// Rounds is the number of windows for each lock and shape.
	Rounds int
	// Window is the length of one window, and Warmup the uncounted time before it, both over all turns of the window. The
	// first turn has twice the warm-up of a window.
	Window, Warmup time.Duration
}

// Full is the whole measurement.
func Full() Plan {
	return Plan{
		Locks: Names, Shapes: []string{"1x1x1", "4x64x1", "4x64x64"}, Rounds: 3, Window: 4 * time.Second,
		Warmup: 1500 * time.Millisecond,
	}
}

// Quick is a short measurement: one short window each, without the many paths.
func Quick() Plan {
	return Plan{
		Locks: Names, Shapes: []string{"1x1x1", "4x64x1"}, Rounds: 1, Window: 2 * time.Second,
		Warmup: 500 * time.Millisecond,
	}
}

// shape is a form of contention: contenders, spread evenly over processes, and over paths.
type shape struct{ processes, contenders, paths int }

var (
	alone = shape{1, 1, 1}
	crowd = shape{4, 64, 1}
)

func (s shape) String() string { return fmt.Sprintf("%dx%dx%d", s.processes, s.contenders, s.paths) }

func (s shape) threads() int { return s.contenders / s.processes }

func parseShapes(texts []string) ([]shape, error) {
	shapes := make([]shape, 0, len(texts))
	for _, text := range texts {
		var s shape
		if _, err := fmt.Sscanf(text, "%dx%dx%d", &s.processes, &s.contenders, &s.paths); err != nil {
			return nil, fmt.Errorf("shape %q is not processes x contenders x paths: %w", text, err)
		}
		if s.processes < 1 || s.paths < 1 || s.contenders < s.processes || s.contenders%s.processes != 0 {
			return nil, fmt.Errorf("shape %q: the contenders must divide evenly over the processes", text)
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

func checkLocks(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names, name) {
			return fmt.Errorf("no lock %q; there are %q", name, Names)
		}
	}
	return nil
}
