package locks

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Plan lists the measurements and their length.
type Plan struct {
	// Locks are some of Names.
	Locks []string `flag:"locks" help:"the locks to measure"`
	// Shapes of contention, as processes x contenders x paths: "4x64x1"; or "1+64x1ms", a lone contender beside 64
	// in another process on one path, who all hold for that long: then the latencies are the lone one's, and
	// only the locks of the two Go packages are measured.
	Shapes []string      `flag:"shapes" help:"processes x contenders x paths; or 1+contenders x time of holding, for how long one waits beside them"`
	Rounds int           `flag:"rounds" help:"windows for each lock and shape"`
	Window time.Duration `flag:"window" help:"length of one window, over all its turns"`
	Warmup time.Duration `flag:"warmup" help:"run before each window, over all its turns; twice as long before the first turn"`
}

// Standard measures every lock in every shape. It takes four to five minutes.
func Standard() Plan {
	return Plan{
		Locks: Names, Shapes: []string{"1x1x1", "4x64x1", "4x64x64", "1+64x1ms"}, Rounds: 3,
		Window: 1500 * time.Millisecond, Warmup: 400 * time.Millisecond,
	}
}

// shape is a form of contention: contenders, spread evenly over processes, and over paths.
type shape struct {
	processes, contenders, paths int
	hold                         time.Duration // with a lone contender; otherwise 0
}

func (s shape) lone() bool { return s.hold > 0 }

func (s shape) String() string {
	if s.lone() {
		return fmt.Sprintf("1+%dx%s", s.contenders-1, s.hold)
	}
	return fmt.Sprintf("%dx%dx%d", s.processes, s.contenders, s.paths)
}

// share returns the number of a process's first contender, and how many it has.
func (s shape) share(process int) (first, threads int) {
	switch {
	case !s.lone():
		threads = s.contenders / s.processes
		return process * threads, threads
	case process == 0:
		return 0, 1
	default:
		return 1, s.contenders - 1
	}
}

func parseShapes(texts []string) ([]shape, error) {
	shapes := make([]shape, 0, len(texts))
	for _, text := range texts {
		var s shape
		if rest, ok := strings.CutPrefix(text, "1+"); ok {
			crowd, hold, _ := strings.Cut(rest, "x")
			n, err := strconv.Atoi(crowd)
			d, e := time.ParseDuration(hold)
			if err != nil || e != nil || n < 1 || d <= 0 {
				return nil, fmt.Errorf("shape %q is not 1+contenders x time of holding", text)
			}
			shapes = append(shapes, shape{processes: 2, contenders: n + 1, paths: 1, hold: d})
			continue
		}
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
