package conn

import "testing"

// counted counts how often it is removed.
type counted struct{ removed int }

func (c *counted) Remove() <-chan error {
	c.removed++
	return nil
}

// What is to be removed at the end goes with the lifetime, once; what comes later goes at once.
func TestRemovalAtTheEndOfALifetime(t *testing.T) {
	l := &Lifetime{remove: map[Remover]struct{}{}}
	kept, forgotten, late := &counted{}, &counted{}, &counted{}
	l.RemoveAtEnd(kept)
	l.RemoveAtEnd(forgotten)
	l.KeepAtEnd(forgotten)
	if kept.removed != 0 {
		t.Error("removed before the end")
	}
	l.removeAll()
	l.RemoveAtEnd(late)
	l.KeepAtEnd(late)
	if kept.removed != 1 || forgotten.removed != 0 || late.removed != 1 {
		t.Errorf("removed %d, %d and %d times; want 1, 0 and 1", kept.removed, forgotten.removed, late.removed)
	}
}
