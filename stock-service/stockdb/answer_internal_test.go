package stockdb

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
)

// A call that finds its flag in use, and then cannot read the outcome, has changed
// nothing and may be repeated. A call whose own commit was not answered cannot know that.
func TestAnUnreadableOutcome(t *testing.T) {
	db, err := mysqldb.Open(serverstest.Database(t), mysqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(db)
	s.Close()
	if err := mysqldb.Close(db); err != nil { // no read succeeds any more
		t.Fatal(err)
	}
	inUse := &mysql.MySQLError{Number: 1062, SQLState: [5]byte{'2', '3', '0', '0', '0'}, Message: "Duplicate entry"}
	for want, cause := range map[error]error{
		operation.ErrUnavailable:    fmt.Errorf("insert: %w", inUse),
		operation.ErrUnknownOutcome: fmt.Errorf("%w: commit", operation.ErrUnknownOutcome),
	} {
		_, err := s.answer(t.Context(), operation.Operation{Flag: "1"}, cause)
		_, restocked := s.restocked(t.Context(), operation.Restock{Flag: "1", GoodsID: 1}, cause)
		for _, err := range []error{err, restocked} {
			if !errors.Is(err, want) || errors.Is(err, operation.ErrUnavailable) && errors.Is(err, operation.ErrUnknownOutcome) {
				t.Errorf("after %v: %v; want %v alone", cause, err, want)
			}
		}
	}
}
