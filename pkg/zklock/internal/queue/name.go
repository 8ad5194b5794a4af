package queue

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the part of a queue node's name that gives the kind of its contender, as Apache Curator's
// recipes write it: _c_<uuid>-lock-0000000012.
type Kind = string

// The kinds of Curator's recipes.
const (
	Lock  Kind = "lock-"
	Read  Kind = "__READ__"
	Write Kind = "__WRIT__"
	Lease Kind = "lease-"
)

// minSequence is how many characters of number the server appends at least (%010d).
const minSequence = 10

// Member is a queue node.
type Member struct {
	Name   string
	Prefix string // what stands before Kind in Name
	Kind   Kind
	Seq    int32 // the number at the end of Name
}

// Parse reads the name of a node of one of the kinds. Any other node is no member, and not ours to
// judge. Nothing before the kind matters, so that clients that write another prefix, or none, stand
// in the same queue.
func Parse(name string, kinds ...Kind) (Member, bool) {
	for _, k := range kinds {
		at := strings.LastIndex(name, k)
		if at < 0 {
			continue
		}
		digits := name[at+len(k):]
		if len(digits) < minSequence || digits[0] == '+' {
			continue
		}
		if seq, err := strconv.ParseInt(digits, 10, 32); err == nil {
			return Member{Name: name, Prefix: name[:at], Kind: k, Seq: int32(seq)}, true
		}
	}
	return Member{}, false
}

// Members returns the members of the given kinds among the names, in no order.
func Members(names []string, kinds ...Kind) []Member {
	members := make([]Member, 0, len(names))
	for _, name := range names {
		if m, ok := Parse(name, kinds...); ok {
			members = append(members, m)
		}
	}
	return members
}

// protection returns the prefix that finds a node again if its create was not answered.
func protection(guid string) string { return "_c_" + guid + "-" }

// NewGUID returns a random UUID (RFC 9562, version 4), as Curator's names hold.
func NewGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
