package locks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Holding is one acquisition: the lock was granted and given up at some moments within these times.
type Holding struct {
	token               string // fencing tokens as text compare as they do as numbers
	granted, grantedBy  Moment
	released, releaseBy Moment
	believed            Moment // when its holder gave it up or saw its loss
}

// never is an end that is not recorded.
const never Moment = math.MaxInt64

// Holdings returns the holdings in the histories of processes. A holding ends within its release; or, if the release
// failed or is missing, or the lock was lost, at any time after its grant.
func Holdings(histories ...[]Record) (all []Holding) {
	for _, records := range histories {
		open := map[string]int{} // the indices of the held ones
		for _, r := range records {
			i, held := open[r.Token]
			switch {
			case r.Phase == Granted:
				open[r.Token] = len(all)
				all = append(all, Holding{r.Token, r.Call, r.Return, r.Return, never, never})
			case held && (r.Phase == Lost || r.Phase == Released):
				delete(open, r.Token)
				all[i].believed = r.Call
				if r.Phase == Released && r.Err == "" {
					all[i].released, all[i].releaseBy = r.Call, r.Return
				}
			}
		}
	}
	return all
}

// Check returns nil if the holdings of all processes together are a mutex's with rising tokens: in the order of their
// tokens, each grant can follow the end of the holding before it. Each takes place as early as it can.
func Check(all []Holding) error {
	all = slices.SortedFunc(slices.Values(all), func(a, b Holding) int { return strings.Compare(a.token, b.token) })
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

// Overlaps counts the holders that began to think that they held while another still thought so. One whose belief has
// no end is left out: its process was killed, and thinks nothing.
func Overlaps(all []Holding) (n int) {
	all = slices.SortedFunc(slices.Values(all), func(a, b Holding) int { return cmp.Compare(a.grantedBy, b.grantedBy) })
	last := Moment(math.MinInt64)
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
