package mysqldb_test

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
)

// How a caller handles the three results of a transaction.
func ExampleTransact() {
	db, err := mysqldb.Open("app:secret@tcp(127.0.0.1:1)/shop", mysqldb.Options{}) // connects on first use
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mysqldb.Close(db) }()
	err = mysqldb.Transact(context.Background(), db, func(tx *gorm.DB) error {
		return tx.Exec("UPDATE stock SET num = num - 1 WHERE goods_id = 1001 AND num >= 1").Error
	})
	switch {
	case err == nil:
		fmt.Println("committed")
	case errors.Is(err, mysqldb.ErrCommitUnknown):
		fmt.Println("unknown: read again")
	default:
		fmt.Println("nothing changed")
	}
	// Output: nothing changed
}
