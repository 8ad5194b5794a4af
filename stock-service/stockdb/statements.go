package stockdb

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// token writes a fencing token into a statement, in hex: MySQL leaves a
// statement whose text is not UTF-8 out of its lists of transactions and
// processes, where an operator looks for who holds a row.
func token(t stock.Token) clause.Expr {
	return gorm.Expr("UNHEX(?)", hex.EncodeToString(t[:]))
}

// readLevels reads the rows of the goods by rising id, with lock as the end of
// the statement: "FOR UPDATE", or nothing.
func readLevels(tx *gorm.DB, goods []int64, lock string) (map[int64]*stock.Level, error) {
	levels := make(map[int64]*stock.Level, len(goods))
	query := tx.Raw("SELECT goods_id, num, fencing_token FROM stock WHERE goods_id IN ? ORDER BY goods_id "+lock, goods)
	err := eachRow(query, func(rows *sql.Rows) error {
		var row levelRow
		err := rows.Scan(&row.GoodsID, &row.Num, &row.FencingToken)
		levels[row.GoodsID] = row.domain()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read levels: %w", err)
	}
	return levels, nil
}

// insertOperations records outcomes. A flag that has one already fails all of
// them, as a duplicate.
func insertOperations(tx *gorm.DB, operations ...stock.Operation) error {
	if len(operations) == 0 {
		return nil
	}
	at := now()
	args := make([]any, 0, 6*len(operations))
	for _, op := range operations {
		args = append(args, op.Flag, string(op.State), op.Reason, stock.EncodeItems(op.Items), token(op.Token), at)
	}
	err := tx.Exec("INSERT INTO operations (flag, state, reason, items, fencing_token, created_at) VALUES "+
		tuples(6, len(operations)), args...).Error
	if err != nil {
		return fmt.Errorf("insert operation: %w", err)
	}
	return nil
}

// insertFlows writes the ledger's rows for the items of those operations that are done.
func insertFlows(tx *gorm.DB, kind operation.Kind, operations ...stock.Operation) error {
	at, rows := now(), 0
	args := make([]any, 0, 5*len(operations))
	for _, op := range operations {
		if op.State == operation.Rejected {
			continue
		}
		for _, item := range op.Items {
			num := item.Num
			if kind == operation.KindDeduct {
				num = -num
			}
			args = append(args, op.Flag, item.GoodsID, string(kind), num, at)
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	err := tx.Exec("INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES "+tuples(5, rows), args...).Error
	if err != nil {
		return fmt.Errorf("insert flow: %w", err)
	}
	return nil
}

// tuples returns "(?,?),(?,?)" for rows of that many columns.
func tuples(columns, rows int) string {
	row := "(" + strings.Repeat("?,", columns-1) + "?)"
	return strings.Repeat(row+",", rows-1) + row
}

func goodsOf(items []operation.Item) []int64 {
	goods := make([]int64, len(items))
	for i, item := range items {
		goods[i] = item.GoodsID
	}
	return goods
}
