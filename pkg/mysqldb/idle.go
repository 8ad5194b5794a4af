package mysqldb

import (
	"context"
	"database/sql/driver"
	"sync"
	"time"
)

// idling is a connection that closes itself when it has been idle in its pool for the limit. The pool's own cleaner
// runs once a second, which is too late: the server drops the connection, and logs a warning.
type idling struct {
	Conn
	limit  time.Duration
	end    func() error // closes it once
	timer  *time.Timer  // nil while it is in use
	spoilt bool         // its binlog_format, fixed at its begin, admits no writes
}

func newIdling(c Conn, limit time.Duration) *idling {
	return &idling{Conn: c, limit: limit, end: sync.OnceValue(c.Close)}
}

// ExecContext implements driver.ExecerContext.
func (c *idling) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, query, args)
	c.spoilt = c.spoilt || number(err) == numBinlogFormat
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *idling) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	c.spoilt = c.spoilt || number(err) == numBinlogFormat
	return rows, err
}

// IsValid implements driver.Validator. The pool calls it when it takes the connection back.
func (c *idling) IsValid() bool {
	valid := !c.spoilt && c.Conn.IsValid()
	if valid && c.timer == nil {
		c.timer = time.AfterFunc(c.limit, func() { _ = c.end() }) // nobody waits for it
	}
	return valid
}

// ResetSession implements driver.SessionResetter. The pool calls it before it hands the connection out again.
func (c *idling) ResetSession(ctx context.Context) error {
	if timer := c.timer; timer != nil {
		c.timer = nil
		if !timer.Stop() {
			return driver.ErrBadConn
		}
	}
	return c.Conn.ResetSession(ctx)
}

// Close implements driver.Conn.
func (c *idling) Close() error {
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.end()
}
