package mysqldb

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of the server.
const (
	numDuplicate = 1062
	numLockWait  = 1205
	numDeadlock  = 1213
)

// IsDuplicate reports whether the server refused a second row under a unique key.
func IsDuplicate(err error) bool { return number(err) == numDuplicate }

// IsDeadlock reports whether the server ended a transaction because of a deadlock.
// It may succeed if it runs again as a whole.
func IsDeadlock(err error) bool {
	return number(err) == numDeadlock && !errors.Is(err, ErrCommitUnknown)
}

// IsLockWait reports whether a transaction waited too long for a row that another
// one holds. If it runs again at once it waits again: see SetAside.
func IsLockWait(err error) bool {
	return number(err) == numLockWait && !errors.Is(err, ErrCommitUnknown)
}

// IsRefusal reports whether the server refused the content of a statement: a value
// that does not fit, a second row under a key, an unknown name. It would refuse the
// same statement again. A server that is away, too busy, stopping or read-only has
// not refused in this sense.
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
