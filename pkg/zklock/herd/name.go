package herd

import (
	"math"
	"strconv"
)

// split parts a sequential node's name into what its creator gave and the number that the server
// added: ten digits, or a minus sign and ten digits where the parent's counter is at its end. It
// counts from the end, because what stands before may hold any character (fault N). Names of
// another form are not of these locks: ok is false.
func split(name string) (prefix string, seq int32, ok bool) {
	const digits = 10
	cut := len(name) - digits
	if cut < 0 {
		return "", 0, false
	}
	for i := cut; i < len(name); i++ {
		if name[i] < '0' || name[i] > '9' {
			return "", 0, false
		}
	}
	if cut > 1 && name[cut-1] == '-' && (name[cut-2] == '-' || name[cut-2] == '_') {
		cut-- // "lock-" and "-2147483648"
	}
	n, err := strconv.ParseInt(name[cut:], 10, 32)
	if err != nil {
		return "", 0, false
	}
	return name[:cut], int32(n), true
}

// usedUp reports whether seq may be given to more than one child. ZooKeeper's counter of a node's
// children stays at its end, and is negative while creates are under way there.
func usedUp(seq int32) bool { return seq < 0 || seq == math.MaxInt32 }
