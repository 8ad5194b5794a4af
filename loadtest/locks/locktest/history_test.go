package locktest_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/locks"
)

// holding is one acquisition: the lock was granted and given up at some moments within these times.
type holding struct {
	token               string // fencing tokens as text compare as they do as numbers
	granted, grantedBy  locks.Moment
	released, releaseBy locks.Moment
	believed            locks.Moment // when its holder gave it up or saw its loss
}

// never is an end that is not recorded.
const never locks.Moment = math.MaxInt64

// holdings returns the holdings in the histories of processes. A holding ends within its release; or, if the release
// failed or is missing, or the lock was lost, at any time after its grant.
func holdings(histories ...[]locks.Record) (all []holding) {
	for _, records := range histories {
		open := map[string]int{} // the indices of the held ones
		for _, r := range records {
			i, held := open[r.Token]
			switch {
			case r.Phase == locks.Granted:
				open[r.Token] = len(all)
				all = append(all, holding{r.Token, r.Call, r.Return, r.Return, never, never})
			case held && (r.Phase == locks.Lost || r.Phase == locks.Released):
				delete(open, r.Token)
				all[i].believed = r.Call
				if r.Phase == locks.Released && r.Err == "" {
					all[i].released, all[i].releaseBy = r.Call, r.Return
				}
			}
		}
	}
	return all
}

// check returns nil if the holdings of all processes together are a mutex's with rising tokens: in the order of their
// tokens, each grant can follow the end of the holding before it. Each takes place as early as it can.
func check(all []holding) error {
	all = slices.SortedFunc(slices.Values(all), func(a, b holding) int { return strings.Compare(a.token, b.token) })
	now, last := locks.Moment(math.MinInt64), ""
	for _, h := range all {
		if h.token == last {
			return fmt.Errorf("two grants have the token %s", h.token)
		}
		now = max(now, h.granted)
		if now > h.grantedBy {
			return fmt.Errorf("the grant of %s was over before the one of the smaller token %s had ended", h.token, last)
		}
		if now = max(now, h.released); now > h.releaseBy {
			return fmt.Errorf("the release of %s was over before its grant", h.token)
		}
		last = h.token
	}
	return nil
}

// overlaps counts the holders that began to think that they held while another still thought so. One whose belief has
// no end is left out: its process was killed, and thinks nothing.
func overlaps(all []holding) (n int) {
	all = slices.SortedFunc(slices.Values(all), func(a, b holding) int { return cmp.Compare(a.grantedBy, b.grantedBy) })
	last := locks.Moment(math.MinInt64)
	for _, h := range all {
		if h.believed == never {
			continue
		}
		if h.grantedBy < last && h.grantedBy < h.believed {
			n++
		}
		last = max(last, h.believed)
	}
	return n
}

func TestCheckRejectsBadHistories(t *testing.T) {
	grant := func(token string, call, ret locks.Moment) locks.Record {
		return locks.Record{Phase: locks.Granted, Token: token, Call: call, Return: ret}
	}
	release := func(token string, call, ret locks.Moment) locks.Record {
		return locks.Record{Phase: locks.Released, Token: token, Call: call, Return: ret}
	}
	for name, c := range map[string]struct {
		records []locks.Record
		want    bool
	}{
		"one after the other": {[]locks.Record{
			grant("1", 0, 1), release("1", 2, 3), grant("2", 0, 3), release("2", 4, 5),
		}, true},
		"two holders": {[]locks.Record{
			grant("1", 0, 1), grant("2", 0, 3), release("1", 4, 5), release("2", 4, 5),
		}, false},
		"a token that falls": {[]locks.Record{
			grant("2", 0, 1), release("2", 2, 3), grant("1", 4, 5), release("1", 6, 7),
		}, false},
		"a token twice": {[]locks.Record{
			grant("1", 0, 1), release("1", 2, 3), grant("1", 4, 5),
		}, false},
		"released before its grant": {[]locks.Record{
			grant("1", 0, 9), grant("2", 8, 9), release("1", 10, 11),
		}, false},
		"at once, in another order": {[]locks.Record{
			grant("2", 0, 9), release("2", 9, 10), grant("1", 0, 9), release("1", 2, 9),
		}, true},
		"killed, then next": {[]locks.Record{
			grant("1", 0, 1), grant("2", 4, 5),
		}, true},
		"lost, then next": {[]locks.Record{
			grant("1", 0, 1), grant("2", 4, 5), {Phase: locks.Lost, Token: "1", Call: 6}, release("1", 7, 8),
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(holdings(c.records)); (err == nil) != c.want {
				t.Errorf("the check says %v", err)
			}
		})
	}
	records := []locks.Record{grant("1", 0, 1), grant("2", 2, 3), release("1", 4, 5), release("2", 6, 7)}
	if n := overlaps(holdings(records)); n != 1 {
		t.Errorf("overlaps of two holders at once: %d", n)
	}
}
