package chaos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is a step of the model of a lock: a grant, or the end of a holding.
type operation struct {
	ends  bool
	token string // fencing tokens as text compare as they do as numbers
	// after is, for a grant, the greatest token of the history below its own. If tokens rise, that is
	// the grant before it; naming it leaves the checker nothing to guess.
	after string
}

// lockState is the holder, and the greatest token granted so far.
type lockState struct{ holder, last string }

// lockModel is a mutex as ZooKeeper sees it: no grant while another holds the lock, and each grant's
// token is greater than all before it.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, op := state.(lockState), input.(operation)
		if op.ends {
			return s.holder == op.token, lockState{last: s.last}
		}
		return s.holder == "" && op.after == s.last && op.token > s.last, lockState{op.token, op.token}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// longAfter is the return of an operation whose end is not recorded.
const longAfter = math.MaxInt64

// operations turns one process's records into a history. A holding ends within its release; or, if the
// release failed or is missing, or the lock was lost, at any time after its grant.
func operations(records []Record) []porcupine.Operation {
	var ops []porcupine.Operation
	type holding struct{ grant, end int } // indices of ops; end -1 while there is none
	holdings := map[string]holding{}
	lostTokens := map[string]bool{}
	for _, r := range records {
		switch r.Phase {
		case Granted:
			ops = append(ops,
				porcupine.Operation{Input: operation{token: r.Token}, Call: int64(r.Call), Return: int64(r.Return)},
				// As if it were killed now; a release corrects it.
				porcupine.Operation{Input: operation{ends: true, token: r.Token}, Call: int64(r.Return), Return: longAfter},
			)
			holdings[r.Token] = holding{len(ops) - 2, len(ops) - 1}
		case Lost:
			lostTokens[r.Token] = true
		case Released:
			if h, ok := holdings[r.Token]; ok && r.Err == "" && !lostTokens[r.Token] {
				ops[h.end].Call, ops[h.end].Return = int64(r.Call), int64(r.Return)
			}
		}
	}
	return ops
}

// inTokenOrder gives each grant the one that it comes after.
func inTokenOrder(ops []porcupine.Operation) []porcupine.Operation {
	var grants []int
	for i, op := range ops {
		if !op.Input.(operation).ends {
			grants = append(grants, i)
		}
	}
	slices.SortStableFunc(grants, func(a, b int) int {
		return strings.Compare(ops[a].Input.(operation).token, ops[b].Input.(operation).token)
	})
	last := ""
	for _, i := range grants {
		op := ops[i].Input.(operation)
		op.after, last = last, op.token
		ops[i].Input = op
	}
	return ops
}

// Check returns nil if the histories of all processes together are a mutex's with rising tokens. The checker gets a
// minute; some 2,000 grants take it a second.
func Check(histories ...[]Record) error {
	var ops []porcupine.Operation
	for client, records := range histories {
		for _, op := range operations(records) {
			op.ClientId = client
			ops = append(ops, op)
		}
	}
	switch got := porcupine.CheckOperationsTimeout(lockModel, inTokenOrder(ops), time.Minute); got {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("the history of %d operations is not a mutex's with rising tokens", len(ops))
	default:
		return fmt.Errorf("the check of %d operations ended as %s", len(ops), got)
	}
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

// Overlaps counts the pairs of holders that thought at the same time that they held.
func Overlaps(all []Belief) (n int) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.from < b.to && b.from < a.to {
				n++
			}
		}
	}
	return n
}
