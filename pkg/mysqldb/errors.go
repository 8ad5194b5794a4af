package mysqldb

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of the server.
const (
	numDuplicate = 1062
	numNoThread  = 1094 // KILL of a connection that is gone
	numNoTable   = 1146
	numLockWait  = 1205
	numDeadlock  = 1213
	numReadOnly  = 1290 // super_read_only
	numReadOnly2 = 1836 // innodb_read_only
	numOffline   = 3032
)

// IsDuplicate reports whether the server refused a second row under a unique key.
func IsDuplicate(err error) bool {
	return number(err) == numDuplicate && !errors.Is(err, ErrCommitUnknown)
}

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
	if !errors.As(err, &refused) || errors.Is(err, ErrCommitUnknown) {
		return false
	}
	switch string(refused.SQLState[:2]) { // classes of ISO 9075
	case "21", "22", "23", "42": // cardinality, data, constraint, syntax or access
		return true
	}
	return false
}

// undone reports whether the server's error says that a statement with its own commit
// changed nothing. Any other error may come from the commit, such as 3100 and 3101 of
// a group's member that was cut off, or 1317 and 1053 of a server that stops.
func undone(err error) bool {
	switch number(err) {
	case numLockWait, numDeadlock, numReadOnly, numReadOnly2, numOffline:
		return true
	}
	return IsRefusal(err)
}

func number(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}
