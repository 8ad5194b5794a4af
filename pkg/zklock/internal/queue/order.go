package queue

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
)

// ErrUsedUp says that the parent has numbered as many children as it can; package zklock exports it.
var ErrUsedUp = errors.New("zklock: the numbers of the path's children are used up, after 2^31 acquisitions: " +
	"ZooKeeper begins again at 0 when the path's node is removed, as it is when nobody has used the lock for a minute")

// lastNumber is the greatest number that gives the order. The margin is for contenders that come meanwhile.
const lastNumber = math.MaxInt32 - 1024

// Ordered returns the members of the given kinds among the children of one parent, in the order of their
// creation. Their numbers, which are the parent's counter, give it until the counter comes near its end at
// 2147483647: then Ordered fails with ErrUsedUp. Past the end ZooKeeper 3.8 gives that number to each child,
// and negative numbers to children created while the create before them is still under way.
func Ordered(names []string, kinds ...Kind) ([]Member, error) {
	members := Members(names, kinds...)
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Name, b.Name))
	})
	if n := len(members); n > 0 && (members[0].Seq < 0 || members[n-1].Seq > lastNumber) {
		return nil, ErrUsedUp
	}
	return members, nil
}

// Rule returns the predecessor of the member at the given index: the one that it waits for, nil if
// it waits for none. A waiter applies the rule again each time that its predecessor is gone, which
// may have been a waiter that gave up.
type Rule func(members []Member, at int) (predecessor *Member)

// InTurn is the rule of a mutex: first come, first served.
func InTurn(members []Member, at int) *Member {
	if at == 0 {
		return nil
	}
	return &members[at-1]
}

// AfterLast returns the rule of a reader: it waits for the last node of the writers' kind before it,
// and never for one that came later.
func AfterLast(writers Kind) Rule {
	return func(members []Member, at int) *Member {
		for at--; at >= 0; at-- {
			if members[at].Kind == writers {
				return &members[at]
			}
		}
		return nil
	}
}
