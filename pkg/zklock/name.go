package zklock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// kind is the part of a node's name that says what its owner wants, as Apache Curator's recipes
// write it: _c_<uuid>-lock-0000000012.
type kind string

const (
	kindLock  kind = "lock-"
	kindRead  kind = "__READ__"
	kindWrite kind = "__WRIT__"
	kindLease kind = "lease-"
)

var allKinds = []kind{kindLock, kindRead, kindWrite, kindLease}

// minSequence is how many characters of sequence the server appends at least (%010d).
const minSequence = 10

// member is a node that stands in a queue.
type member struct {
	name string
	kind kind
	// seq is the parent's counter when the node was made. It is 32 bits wide and wraps to negative
	// numbers, which the server writes with a sign: lock--2147483648.
	seq int32
}

// parseMember reads the name of a node of one of the kinds. Anything else is no member: other
// clients' nodes under the same parent are none of our business. Nothing before the kind matters,
// so that locks of clients that write another prefix, or none, stand in the same queue.
func parseMember(name string, kinds ...kind) (member, bool) {
	for _, k := range kinds {
		at := strings.LastIndex(name, string(k))
		if at < 0 {
			continue
		}
		digits := name[at+len(k):]
		if len(digits) < minSequence || digits[0] == '+' {
			continue
		}
		if seq, err := strconv.ParseInt(digits, 10, 32); err == nil {
			return member{name, k, int32(seq)}, true
		}
	}
	return member{}, false
}

// before compares two members' places in the queue. It goes by the difference of the counters,
// which is right across the wrap as long as fewer than 2^31 nodes were made between the two.
// Comparing the names as strings, or the numbers as numbers, is wrong there.
func (m member) before(other member) bool {
	if m.seq != other.seq {
		return m.seq-other.seq < 0
	}
	return m.name < other.name // not from one parent's counter, but there is one answer to it
}

// queue returns the members of the given kinds among the children's names, in order.
func queue(children []string, kinds ...kind) []member {
	members := make([]member, 0, len(children))
	for _, name := range children {
		if m, ok := parseMember(name, kinds...); ok {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(a, b member) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		default:
			return cmp.Compare(a.name, b.name)
		}
	})
	return members
}

// place finds the member of the given name, -1 where it is not there.
func place(members []member, name string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.name == name })
}

// protection is the prefix by which a node is found again whose create was not answered.
func protection(guid string) string { return "_c_" + guid + "-" }
