package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

var (
	// ErrReadOnly is returned by ReadyCheck if the server takes no writes of ordinary users.
	ErrReadOnly = errors.New("the server takes no writes (read_only, super_read_only, innodb_read_only or offline_mode" +
		" is set): connect to the primary, or make this server writable")
	// ErrInvisible is returned by ReadyCheck if other connections would not see a committed write.
	ErrInvisible = errors.New("a committed write is not visible to another connection: a proxy in front of the server" +
		" changes the settings of transactions; connect to the server itself")
)

// readiness asks for max_allowed_packet, whether the server takes no writes, and whether the connection keeps them to
// itself. A variable may be a number or a word. Each of the comments is read by only one of the two servers.
const readiness = `SELECT @@SESSION.max_allowed_packet,
	1 IN (@@GLOBAL.innodb_read_only, 0 /*!80000 , @@GLOBAL.read_only, @@GLOBAL.super_read_only, @@GLOBAL.offline_mode */)
		/*M!100000 OR @@GLOBAL.read_only NOT IN ('0', 'OFF') */,
	@@SESSION.autocommit <> 1 OR @@SESSION.completion_type <> 'NO_CHAIN'`

// ReadyCheck returns a function that asks the server for its variables. It returns ErrReadOnly if the server takes no
// writes, and ErrInvisible if the settings of transactions are not those that Open has set. A server whose
// max_allowed_packet is below minPacket is not ready.
func ReadyCheck(db *gorm.DB) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		pool, err := db.DB()
		if err != nil {
			return fmt.Errorf("check for writes: %w", err)
		}
		if err := checkWrites(ctx, pool); err != nil {
			return fmt.Errorf("check for writes: %w", err)
		}
		return nil
	}
}

func checkWrites(ctx context.Context, pool *sql.DB) error {
	var (
		packet              int64
		readOnly, invisible bool
	)
	if err := pool.QueryRowContext(ctx, readiness).Scan(&packet, &readOnly, &invisible); err != nil {
		return err
	}
	switch {
	case readOnly:
		return ErrReadOnly
	case invisible:
		return ErrInvisible
	case packet < minPacket:
		return fmt.Errorf("the server's max_allowed_packet is %d bytes: set at least %d", packet, minPacket)
	}
	return nil
}
