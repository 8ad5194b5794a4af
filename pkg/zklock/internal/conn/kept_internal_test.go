package conn

import "testing"

// counted counts how often it is removed.
type counted struct{ removed int }

func (c *counted) Remove() <-chan error {
	c.removed++
	return nil
}

// What is kept goes with the lifetime, once; what comes later goes at once.
func TestKeptGoesWithTheLifetime(t *testing.T) {
	l := &Lifetime{kept: map[Kept]struct{}{}}
	kept, forgotten, late := &counted{}, &counted{}, &counted{}
	l.Keep(kept)
	l.Keep(forgotten)
	l.Forget(forgotten)
	if kept.removed != 0 {
		t.Error("removed before the end")
	}
	l.removeKept()
	l.Keep(late)
	l.Forget(late)
	if kept.removed != 1 || forgotten.removed != 0 || late.removed != 1 {
		t.Errorf("removed %d, %d and %d times; want 1, 0 and 1", kept.removed, forgotten.removed, late.removed)
	}
}
