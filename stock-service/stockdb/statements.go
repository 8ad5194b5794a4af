package stockdb

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// operationRow is a row of operations.
type operationRow struct {
	flag, state, reason, items string
	token                      []byte
}

// domain returns the row as the answer to a repeat.
func (r operationRow) domain() (operation.Operation, error) {
	items, err := operation.DecodeItems(r.items)
	if err != nil {
		return operation.Operation{}, fmt.Errorf("read operation %s: %w", r.flag, err)
	}
	op := operation.Operation{Flag: r.flag, State: operation.State(r.state), Reason: r.reason, Items: items, Repeat: true}
	copy(op.Token[:], r.token)
	return op, nil
}

// now is the current time in the resolution of the columns, microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// token is a fencing token as the value of a placeholder, in hex: see mysqldb.Statement.
func token(t operation.Token) clause.Expr {
	return gorm.Expr("UNHEX(?)", hex.EncodeToString(t[:]))
}

// byProduct is the value that each of the products has, as a CASE of the row's goods_id.
func byProduct(goods []int64, value func(id int64) any) clause.Expr {
	cases := make([]any, 0, 2*len(goods))
	for _, id := range goods {
		cases = append(cases, id, value(id))
	}
	return gorm.Expr("CASE goods_id"+strings.Repeat(" WHEN ? THEN ?", len(goods))+" END", cases...)
}

// stockByID is the table in a statement that locks several products. Without the hint, a server walks all rows of a
// small table, and locks them: also the products of others, and out of order.
const stockByID = "stock FORCE INDEX (PRIMARY)"

// readLevels reads the rows of the products, which are sorted, by ascending id. The statement ends with lock: "FOR
// UPDATE", or nothing.
func readLevels(tx *gorm.DB, goods []int64, lock string) (map[int64]*stock.Level, error) {
	type levelRow struct {
		id    int64
		level stock.Level
		token []byte
	}
	levels := make(map[int64]*stock.Level, len(goods))
	columns := func(r *levelRow) []any { return []any{&r.id, &r.level.Num, &r.level.Version, &r.token} }
	for row, err := range mysqldb.RowsIn(tx, columns, "SELECT goods_id, num, version, fencing_token FROM "+stockByID+
		" WHERE goods_id IN ? ORDER BY goods_id "+lock, goods) {
		if err != nil {
			return nil, fmt.Errorf("read levels: %w", err)
		}
		copy(row.level.Token[:], row.token)
		levels[row.id] = &row.level
	}
	return levels, nil
}

// insertOperations records outcomes. A flag that already has one fails all of them, as a duplicate.
func insertOperations(tx *gorm.DB, operations ...operation.Operation) error {
	at := now()
	insert := mysqldb.NewInsert(tx, "INSERT INTO "+operationTable.String()+" VALUES ")
	for _, op := range operations {
		state := mysqldb.Raw("'" + op.State + "'")
		items := mysqldb.Raw("'" + operation.EncodeItems(op.Items) + "'") // digits, colons and commas
		insert.Row([]byte(op.Flag), state, op.Reason, items, op.Token[:], at)
	}
	if _, err := insert.Exec(); err != nil {
		return fmt.Errorf("insert operation: %w", err)
	}
	return nil
}

// insertFlows writes the flow rows of the operations that are not rejected.
func insertFlows(tx *gorm.DB, kind operation.Kind, operations ...operation.Operation) error {
	at := now()
	insert := mysqldb.NewInsert(tx, "INSERT INTO "+flowTable.String()+" VALUES ")
	for _, op := range operations {
		if op.State == operation.Rejected {
			continue
		}
		for _, item := range op.Items {
			num := item.Num
			if kind == operation.KindDeduct {
				num = -num
			}
			insert.Row([]byte(op.Flag), item.GoodsID, mysqldb.Raw("'"+kind+"'"), num, at)
		}
	}
	if _, err := insert.Exec(); err != nil {
		return fmt.Errorf("insert flow: %w", err)
	}
	return nil
}

func goodsOf(items []operation.Item) []int64 {
	goods := make([]int64, len(items))
	for i, item := range items {
		goods[i] = item.GoodsID
	}
	return goods
}

// numsOf returns the number of pieces of each product.
func numsOf(items []operation.Item) map[int64]int64 {
	nums := make(map[int64]int64, len(items))
	for _, item := range items {
		nums[item.GoodsID] = item.Num
	}
	return nums
}
