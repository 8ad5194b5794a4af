package zklock

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is the part of a queue node's name that gives the kind of its contender, as Apache Curator's
// recipes write it: _c_<uuid>-lock-0000000012. Programs in other languages read these names.
type kind = string

// The kinds of Curator's recipes.
const (
	lockKind  kind = "lock-"
	readKind  kind = "__READ__"
	writeKind kind = "__WRIT__"
	leaseKind kind = "lease-"
)

const (
	// minDigits is how many characters of number the server appends at least (%010d).
	minDigits = 10
	// lastNumber is the greatest number that gives the order. The margin is for contenders that come before they look.
	lastNumber = math.MaxInt32 - 1024
)

// member is a node in a queue.
type member struct {
	name   string
	kind   kind
	number int32 // at the end of the name
}

// parseName reads the name of a node of one of the kinds. Any other node is no member, and not ours to judge. Nothing
// before the kind matters, so that clients that write another prefix, or none, stand in the same queue.
func parseName(name string, kinds ...kind) (member, bool) {
	for _, k := range kinds {
		at := strings.LastIndex(name, k)
		if at < 0 {
			continue
		}
		digits := name[at+len(k):]
		if len(digits) < minDigits || digits[0] == '+' {
			continue
		}
		if number, err := strconv.ParseInt(digits, 10, 32); err == nil {
			return member{name: name, kind: k, number: int32(number)}, true
		}
	}
	return member{}, false
}

// isContender reports whether name is of a contender of this package or of Curator's recipes, of any kind.
func isContender(name string) bool {
	digits := name[max(0, len(name)-minDigits):]
	return strings.HasPrefix(name, "_c_") && strings.Trim(digits, "0123456789") == ""
}

// membersOf returns the members of the given kinds among the names, in no order.
func membersOf(names []string, kinds ...kind) []member {
	members := make([]member, 0, len(names))
	for _, name := range names {
		if m, ok := parseName(name, kinds...); ok {
			members = append(members, m)
		}
	}
	return members
}

// ordered returns the members of the given kinds among the children of one parent, in the order of their
// creation. Their numbers, which are the parent's counter, give it until the counter comes near its end at
// 2147483647: then ordered fails with ErrUsedUp. Past the end ZooKeeper 3.8 gives that number to each child,
// and negative numbers to children created while the create before them is still under way.
func ordered(names []string, kinds ...kind) ([]member, error) {
	members := membersOf(names, kinds...)
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.name, b.name))
	})
	if n := len(members); n > 0 && (members[0].number < 0 || members[n-1].number > lastNumber) {
		return nil, ErrUsedUp
	}
	return members, nil
}

// rule returns the name of the predecessor of the member at the given index: the one that it waits for,
// or "" if it waits for none. A waiter applies the rule again each time that its predecessor is gone, which
// may have been a waiter that gave up.
type rule func(members []member, at int) (predecessor string)

// inTurn is the rule of a mutex: first come, first served.
func inTurn(members []member, at int) string {
	if at == 0 {
		return ""
	}
	return members[at-1].name
}

// shared is the rule of a read-write lock: a writer waits in turn, a reader for the last writer before it, and never
// for one that came later.
func shared(members []member, at int) string {
	if members[at].kind == writeKind {
		return inTurn(members, at)
	}
	for at--; at >= 0; at-- {
		if members[at].kind == writeKind {
			return members[at].name
		}
	}
	return ""
}

// protection returns the prefix that finds a node again if its create was not answered.
func protection(guid string) string { return "_c_" + guid + "-" }

// newGUID returns a random UUID (RFC 9562, version 4), as Curator's names hold.
func newGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	digits := hex.EncodeToString(b[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
