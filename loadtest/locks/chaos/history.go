package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// holding is one acquisition: the lock was granted and given up at some moments within these times.
type holding struct {
	token               string // fencing tokens as text compare as they do as numbers
	granted, grantedBy  Moment
	released, releaseBy Moment
}

// never is the end of a holding whose end is not recorded.
const never Moment = math.MaxInt64

// holdings returns one process's holdings. A holding ends within its release; or, if the release failed or is missing,
// or the lock was lost, at any time after its grant.
func holdings(records []Record) []holding {
	var all []holding
	open := map[string]int{} // the indices of those that may still end within a release
	for _, r := range records {
		switch r.Phase {
		case Granted:
			open[r.Token] = len(all)
			all = append(all, holding{r.Token, r.Call, r.Return, r.Return, never})
		case Lost:
			delete(open, r.Token)
		case Released:
			if i, ok := open[r.Token]; ok && r.Err == "" {
				all[i].released, all[i].releaseBy = r.Call, r.Return
			}
		}
	}
	return all
}

// Check returns nil if the histories of all processes together are a mutex's with rising tokens: in the order of their
// tokens, each grant can follow the end of the holding before it. Each takes place as early as it can.
func Check(histories ...[]Record) error {
	var all []holding
	for _, records := range histories {
		all = append(all, holdings(records)...)
	}
	slices.SortFunc(all, func(a, b holding) int { return strings.Compare(a.token, b.token) })
	now, last := Moment(math.MinInt64), ""
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

// Belief is a time during which a holder thought that it held.
type Belief struct {
	token    string
	from, to Moment
}

// Beliefs returns the times from each grant's return to the call of its release or the sight of its
// loss. One without an end is left out: its process was killed, and thinks nothing.
func Beliefs(records []Record) []Belief {
	var all []Belief
	open := map[string]Moment{}
	for _, r := range records {
		switch r.Phase {
		case Granted:
			open[r.Token] = r.Return
		case Lost, Released:
			if from, ok := open[r.Token]; ok {
				all = append(all, Belief{r.Token, from, r.Call})
				delete(open, r.Token)
			}
		}
	}
	return all
}

// Overlaps counts the holders that began to think that they held while another still thought so.
func Overlaps(all []Belief) (n int) {
	all = slices.SortedFunc(slices.Values(all), func(a, b Belief) int { return cmp.Compare(a.from, b.from) })
	last := Moment(math.MinInt64)
	for _, b := range all {
		if b.from < last && b.from < b.to {
			n++
		}
		last = max(last, b.to)
	}
	return n
}
