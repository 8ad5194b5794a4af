package mysqldb

import "fmt"

// answer is one member's view of the group.
type answer struct {
	err error // not nil: it did not answer

	self, state string          // the member's own id and state
	primary     string          // the primary's id, "" for none
	readOnly    bool            // the member takes no writes
	knows       map[string]bool // the ids in its list of members
	members     int
	reachable   int
}

// add adds a row of the member's list of members.
func (a *answer) add(id string, self bool, state, role string, readOnly bool) {
	a.members++
	if a.knows == nil {
		a.knows = map[string]bool{}
	}
	a.knows[id] = true
	if state != "UNREACHABLE" {
		a.reachable++
	}
	if role == "PRIMARY" {
		a.primary = id
	}
	if self {
		a.self, a.state, a.readOnly = id, state, readOnly
	}
}

// votes reports whether the answer counts: the member is online and not cut off with a minority. Its RECOVERING peers
// count as reachable members, as in the group's own majority.
func (a *answer) votes() bool {
	return a.err == nil && a.state == "ONLINE" && 2*a.reachable > a.members
}

// elect returns the index of the primary's answer, or -1. The primary reports itself as the primary, takes writes, and
// has more votes than any other member. A former primary that was frozen, and has not noticed that it was replaced, has
// only its own vote. Nobody is elected while two primaries do not know each other: they belong to two groups, which
// both take writes.
func elect(answers []answer) int {
	if parted(answers) {
		return -1
	}
	votes := map[string]int{}
	for _, a := range answers {
		if a.votes() {
			votes[a.primary]++
		}
	}
	for i, a := range answers {
		if !a.leads() {
			continue
		}
		most := true
		for id, n := range votes {
			most = most && (id == a.self || n < votes[a.self])
		}
		if most {
			return i
		}
	}
	return -1
}

// leads reports whether the member considers itself the primary and takes writes.
func (a *answer) leads() bool { return a.votes() && a.primary == a.self && !a.readOnly }

// parted reports whether two members lead groups that do not know each other.
func parted(answers []answer) bool {
	for i, a := range answers {
		for _, b := range answers[:i] {
			if a.leads() && b.leads() && !a.knows[b.self] && !b.knows[a.self] {
				return true
			}
		}
	}
	return false
}

func (a *answer) String() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("does not answer (%v)", a.err)
	case a.state != "ONLINE":
		return "is " + a.state
	case !a.votes():
		return fmt.Sprintf("reaches %d of %d members", a.reachable, a.members)
	case a.primary == a.self && a.readOnly:
		return "is the primary and not writable yet"
	case a.primary == a.self:
		return "is the primary"
	}
	return "is a secondary"
}
