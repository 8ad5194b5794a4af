package main

import (
	"fmt"
	"slices"
	"time"
)

// plan says what is measured, and for how long.
type plan struct {
	locks  []string
	shapes []string
	rounds int
	window time.Duration
	warmup time.Duration
}

// shorten makes a quick run of what was not set explicitly.
func (p *plan) shorten(changed func(flag string) bool) {
	if !changed("rounds") {
		p.rounds = 1
	}
	if !changed("window") {
		p.window = 2 * time.Second
	}
	if !changed("warmup") {
		p.warmup = 500 * time.Millisecond
	}
	if !changed("shapes") {
		p.shapes = []string{"1x1x1", "4x64x1"}
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
		if !slices.Contains(lockNames, name) {
			return fmt.Errorf("no lock %q; there are %q", name, lockNames)
		}
	}
	return nil
}
