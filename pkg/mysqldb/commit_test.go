package mysqldb_test

import (
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
)

// The server answers a statement that commits by itself with an error. After an error
// that comes from the commit, such as the error of a group's member that lost the others,
// the change may be in effect.
func TestAnErrorOfTheCommitIsUnknown(t *testing.T) {
	db := open(t, mysqldb.Options{})
	answer := func(number int) string {
		return fmt.Sprintf("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'as told'", number)
	}
	for number, unknown := range map[int]bool{
		3100: true, 3101: true, 1317: true, 1053: true, 1180: true,
		1205: false, 1213: false, 1290: false, 1836: false, 3032: false,
	} {
		_, err := mysqldb.Exec(t.Context(), db, answer(number))
		if err == nil || errors.Is(err, mysqldb.ErrCommitUnknown) != unknown {
			t.Errorf("error %d of a statement with its own commit: %v; unknown: want %t", number, err, unknown)
		}
		if unknown && (mysqldb.IsDeadlock(err) || mysqldb.IsLockWait(err) ||
			mysqldb.IsRefusal(err) || mysqldb.IsDuplicate(err)) {
			t.Errorf("error %d is unknown, and reported as one that changed nothing", number)
		}
		// Inside a transaction, before its commit, nothing has changed in any case.
		err = mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error { return tx.Exec(answer(number)).Error })
		if err == nil || errors.Is(err, mysqldb.ErrCommitUnknown) {
			t.Errorf("error %d before the commit: %v", number, err)
		}
	}
}
