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

// IsRefusal reports whether err is the server's own answer to a statement, and
// not a failure to reach it.
func IsRefusal(err error) bool { return number(err) != 0 }

func number(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}
