package chaos

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func TestModelRejectsBadHistories(t *testing.T) {
	grant := func(token string, call, ret Moment) Record {
		return Record{Phase: Granted, Token: token, Call: call, Return: ret}
	}
	release := func(token string, call, ret Moment) Record {
		return Record{Phase: Released, Token: token, Call: call, Return: ret}
	}
	for name, c := range map[string]struct {
		records []Record
		want    bool
	}{
		"one after the other": {[]Record{grant("1", 0, 1), release("1", 2, 3), grant("2", 0, 3), release("2", 4, 5)}, true},
		"two holders":         {[]Record{grant("1", 0, 1), grant("2", 0, 3), release("1", 4, 5), release("2", 4, 5)}, false},
		"a token that falls":  {[]Record{grant("2", 0, 1), release("2", 2, 3), grant("1", 4, 5), release("1", 6, 7)}, false},
		"a token twice":       {[]Record{grant("1", 0, 1), release("1", 2, 3), grant("1", 4, 5)}, false},
		"killed, then next":   {[]Record{grant("1", 0, 1), grant("2", 4, 5)}, true},
		"lost, then next": {[]Record{
			grant("1", 0, 1), grant("2", 4, 5), {Phase: Lost, Token: "1", Call: 6}, release("1", 7, 8),
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := porcupine.CheckOperations(lockModel, inTokenOrder(operations(c.records))); got != c.want {
				t.Errorf("the model says %v", got)
			}
		})
	}
	records := []Record{grant("1", 0, 1), grant("2", 2, 3), release("1", 4, 5), release("2", 6, 7)}
	if n := Overlaps(Beliefs(records)); n != 1 {
		t.Errorf("overlaps of two holders at once: %d", n)
	}
}
