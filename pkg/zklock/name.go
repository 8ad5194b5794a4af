package zklock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/order"
)

// kind is the part of a node's name that says what its owner wants, as Apache Curator's recipes
// write it: _c_<uuid>-lock-0000000012.
type kind = string

const (
	kindLock  kind = "lock-"
	kindRead  kind = "__READ__"
	kindWrite kind = "__WRIT__"
	kindLease kind = "lease-"
)

// minSequence is how many characters of sequence the server appends at least (%010d).
const minSequence = 10

// member is a node that stands in a queue.
type member = order.Node

// parseMember reads the name of a node of one of the kinds. Anything else is no member: other
// clients' nodes under the same parent are none of our business. Nothing before the kind matters,
// so that locks of clients that write another prefix, or none, stand in the same queue.
func parseMember(name string, kinds ...kind) (member, bool) {
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
			return member{Name: name, Kind: k, Seq: int32(seq)}, true
		}
	}
	return member{}, false
}

// badName returns an error for what cannot be in a node's name.
func badName(names []kind) error {
	for _, name := range names {
		if name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("lock name %q is empty or holds a slash: give WithNames another", name)
		}
	}
	return nil
}

// members returns those of the given kinds among the children's names, in no order.
func members(children []string, kinds ...kind) []member {
	members := make([]member, 0, len(children))
	for _, name := range children {
		if m, ok := parseMember(name, kinds...); ok {
			members = append(members, m)
		}
	}
	return members
}

// queue returns the members of the given kinds among the children of dir, in order. It asks
// ZooKeeper only where the names do not tell the order.
func (s *Session) queue(ctx context.Context, dir string, children []string, kinds ...kind) ([]member, error) {
	return s.inOrder(ctx, dir, members(children, kinds...))
}

func (s *Session) inOrder(ctx context.Context, dir string, members []member) ([]member, error) {
	return order.Sort(ctx, members, func(ctx context.Context, name string) (int64, error) {
		return call(ctx, s, func() (int64, error) {
			exists, stat, err := s.conn.Exists(dir + "/" + name)
			if err == nil && !exists {
				err = zk.ErrNoNode
			}
			if err != nil {
				return 0, err
			}
			return stat.Czxid, nil
		}, nil)
	})
}

// place finds the member of the given name, -1 where it is not there.
func place(members []member, name string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.Name == name })
}

// protection is the prefix by which a node is found again whose create was not answered.
func protection(guid string) string { return "_c_" + guid + "-" }
