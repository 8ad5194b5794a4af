package mysqldb

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// The server's error numbers that decide something here.
const (
	numDuplicate = 1062
	numLockWait  = 1205
	numDeadlock  = 1213
)

// IsDuplicate reports whether err is the refusal of a second row under a unique key.
func IsDuplicate(err error) bool { return number(err) == numDuplicate }

// IsTransient reports whether the server ended a transaction that may succeed
// when it runs again as a whole: a deadlock, or a row held for too long.
func IsTransient(err error) bool {
	if errors.Is(err, ErrCommitUnknown) {
		return false
	}
	n := number(err)
	return n == numDeadlock || n == numLockWait
}

// IsRefusal reports whether the server refused what a statement says: a value
// that does not fit, a second row under a key, an unknown name. The same
// statement would be refused again. A server that is out of reach, too busy,
// stopping or read-only has not refused in this sense.
func IsRefusal(err error) bool {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return false
	}
	switch string(refused.SQLState[:2]) { // classes of ISO 9075
	case "21", "22", "23", "42": // cardinality, data, constraint, syntax or access
		return true
	}
	return false
}

func number(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}
