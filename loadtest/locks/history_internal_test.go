package locks

import "testing"

func TestCheckRejectsBadHistories(t *testing.T) {
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
		"one after the other": {[]Record{
			grant("1", 0, 1), release("1", 2, 3), grant("2", 0, 3), release("2", 4, 5),
		}, true},
		"two holders": {[]Record{
			grant("1", 0, 1), grant("2", 0, 3), release("1", 4, 5), release("2", 4, 5),
		}, false},
		"a token that falls": {[]Record{
			grant("2", 0, 1), release("2", 2, 3), grant("1", 4, 5), release("1", 6, 7),
		}, false},
		"a token twice": {[]Record{
			grant("1", 0, 1), release("1", 2, 3), grant("1", 4, 5),
		}, false},
		"released before its grant": {[]Record{
			grant("1", 0, 9), grant("2", 8, 9), release("1", 10, 11),
		}, false},
		"at once, in another order": {[]Record{
			grant("2", 0, 9), release("2", 9, 10), grant("1", 0, 9), release("1", 2, 9),
		}, true},
		"killed, then next": {[]Record{
			grant("1", 0, 1), grant("2", 4, 5),
		}, true},
		"lost, then next": {[]Record{
			grant("1", 0, 1), grant("2", 4, 5), {Phase: Lost, Token: "1", Call: 6}, release("1", 7, 8),
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check(Holdings(c.records)); (err == nil) != c.want {
				t.Errorf("the check says %v", err)
			}
		})
	}
	records := []Record{grant("1", 0, 1), grant("2", 2, 3), release("1", 4, 5), release("2", 6, 7)}
	if n := Overlaps(Holdings(records)); n != 1 {
		t.Errorf("overlaps of two holders at once: %d", n)
	}
}
