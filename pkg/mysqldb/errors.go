package mysqldb

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of the server.
const (
	numDuplicate = 1062
	numNoColumn  = 1054
	numNoTable   = 1146
	numLockWait  = 1205
	numDeadlock  = 1213
	numReadOnly  = 1290 // super_read_only
	numReadOnly2 = 1836 // innodb_read_only
	numOffline   = 3032

	numBinlogFormat = 1665 // of the session: statements, which READ COMMITTED forbids
)

// IsDuplicate reports whether the server refused a second row under a unique key.
func IsDuplicate(err error) bool {
	return number(err) == numDuplicate && !errors.Is(err, ErrCommitUnknown)
}

// IsDeadlock reports whether the server ended a transaction because of a deadlock. The whole transaction may succeed if
// it runs again.
func IsDeadlock(err error) bool {
	return number(err) == numDeadlock && !errors.Is(err, ErrCommitUnknown)
}

// IsLockWait reports whether a transaction waited too long for a row held by another one. An immediate retry would wait
// again: see Caution.
func IsLockWait(err error) bool {
	return number(err) == numLockWait && !errors.Is(err, ErrCommitUnknown)
}

// IsRefusal reports whether the server refused the content of a statement: a value that does not fit, or a second row
// under a key. It would refuse the same statement again. Errors of a server that is away, too busy, stopping, read-only
// or at one of its limits are no refusals in this sense, and neither are missing tables, columns and rights.
//
// The class of the error's SQLSTATE decides, except for the numbers in refusals.
func IsRefusal(err error) bool {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || errors.Is(err, ErrCommitUnknown) {
		return false
	}
	if refusal, ok := refusals[refused.Number]; ok {
		return refusal
	}
	switch string(refused.SQLState[:2]) { // classes of ISO 9075
	case "21", "22", "23", "42": // cardinality, data, constraint, syntax or access
		return true
	}
	return false
}

// refusals are the numbers whose class does not decide IsRefusal. Servers report limits, missing names and missing
// rights as errors of syntax or access, and refuse some values under a general class.
var refusals = map[uint16]bool{
	1044: false, // no right to the database
	1049: false, // no database
	1142: false, // no right to the table
	1143: false, // no right to the column
	1176: false, // no index
	1203: false, // more connections of the user than max_user_connections
	1226: false, // a limit of the user's account
	1461: false, // max_prepared_stmt_count

	numNoColumn:     false,
	numNoTable:      false,
	numBinlogFormat: false,

	1265: true, // data truncated
	1267: true, // mix of collations
	1300: true, // invalid string in its character set
	1364: true, // no default value
	1366: true, // incorrect value
	3819: true, // check constraint
}

// undone reports whether the server's error means that a statement with its own commit changed nothing. Any other error
// may come from the commit, such as 3100 and 3101 of a group's member that was cut off, or 1317 and 1053 of a server
// that stops.
func undone(err error) bool {
	switch number(err) {
	case numLockWait, numDeadlock, numReadOnly, numReadOnly2, numOffline:
		return true
	}
	_, listed := refusals[number(err)] // in either list: it was refused
	return listed || IsRefusal(err)
}

func number(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}
