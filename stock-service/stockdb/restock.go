package stockdb

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// Restock implements stock.Ledger.
func (s *DB) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	var goods operation.Goods
	err := s.transact(ctx, []int64{r.GoodsID}, func(tx *gorm.DB) (err error) {
		if err := raiseLevel(tx, r); err != nil {
			return err
		}
		if err := insertRestockFlow(tx, r); err != nil {
			return err
		}
		if err := insertRestock(tx, r); err != nil {
			return err
		}
		if err := ownFlag(tx, r); err != nil {
			return err
		}
		goods, err = readGoods(tx, r.GoodsID)
		if err == nil && goods.Num > stock.MaxLevel {
			return fmt.Errorf("%w: %d of product %d", operation.ErrLevelOverflow, goods.Num, r.GoodsID)
		}
		return err
	})
	if mysqldb.IsDuplicate(err) || errors.Is(err, operation.ErrUnknownOutcome) {
		return s.restocked(ctx, r, err)
	}
	if err != nil {
		return operation.Goods{}, err
	}
	return goods, nil
}

func insertRestockFlow(tx *gorm.DB, r operation.Restock) error {
	err := tx.Exec("INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES (?, ?, ?, ?, ?)",
		r.Flag, r.GoodsID, string(operation.KindRestock), r.Num, now()).Error
	if err != nil {
		return fmt.Errorf("insert flow: %w", err)
	}
	return nil
}

func insertRestock(tx *gorm.DB, r operation.Restock) error {
	err := tx.Exec("INSERT INTO restocks (flag, goods_id, name, price) VALUES (?, ?, ?, ?)",
		r.Flag, r.GoodsID, r.Name, r.Price).Error
	if err != nil {
		return fmt.Errorf("insert restock: %w", err)
	}
	return nil
}

// ownFlag returns ErrFlagConflict if an operation, or the restock of another product, has the flag too. The
// rows of r are written before: of two transactions that use one flag concurrently, one waits for the other's
// rows here, or both do and the server ends one.
func ownFlag(tx *gorm.DB, r operation.Restock) error {
	for _, query := range []string{
		"SELECT COUNT(*) FROM stock_flow WHERE flag = ? AND (goods_id <> ? OR kind <> 'restock') FOR UPDATE",
		"SELECT COUNT(*) FROM operations WHERE flag = ? AND ? > 0 FOR UPDATE",
	} {
		var others int
		if err := tx.Raw(query, r.Flag, r.GoodsID).Scan(&others).Error; err != nil {
			return fmt.Errorf("look for the flag: %w", err)
		}
		if others > 0 {
			return fmt.Errorf("%w: flag %s belongs to an operation, or to another product's restock", operation.ErrFlagConflict,
				r.Flag)
		}
	}
	return nil
}

func raiseLevel(tx *gorm.DB, r operation.Restock) error {
	name, price := "", int64(0)
	set, args := "num = num + ?, updated_at = ?", []any{r.Num, now()}
	if r.Name != nil {
		name = *r.Name
		set, args = set+", name = ?", append(args, name)
	}
	if r.Price != nil {
		price = *r.Price
		set, args = set+", price = ?", append(args, price)
	}
	args = append([]any{r.GoodsID, name, price, r.Num, now()}, args...)
	err := tx.Exec("INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (?, ?, ?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE "+set, args...).Error
	if err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	return nil
}

func readGoods(tx *gorm.DB, id int64) (operation.Goods, error) {
	var row goodsRow
	err := tx.Raw("SELECT goods_id, name, price, num FROM stock WHERE goods_id = ?", id).Scan(&row).Error
	if err != nil {
		return operation.Goods{}, fmt.Errorf("read stock: %w", err)
	}
	return row.domain(), nil
}

// restocked answers a restock whose flag is already in use, or whose commit was not answered. It returns the product if
// the flag was used for this very restock, ErrFlagConflict if it was used for another, and unresolved(cause) if it was
// not used.
func (s *DB) restocked(ctx context.Context, r operation.Restock, cause error) (operation.Goods, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveLimit)
	defer cancel()
	db := s.db.WithContext(ctx)
	var firsts []restockRow
	err := db.Raw(`SELECT f.num, r.name, r.price, r.flag IS NOT NULL AS told FROM stock_flow f
		LEFT JOIN restocks r ON r.flag = f.flag AND r.goods_id = f.goods_id
		WHERE f.flag = ? AND f.goods_id = ? AND f.kind = ?`,
		r.Flag, r.GoodsID, string(operation.KindRestock)).Scan(&firsts).Error
	switch {
	case err != nil:
		return operation.Goods{}, unresolved(errors.Join(cause, err))
	case len(firsts) == 0:
		return operation.Goods{}, unresolved(cause)
	case !firsts[0].is(r):
		return operation.Goods{}, fmt.Errorf("%w: flag %s restocked %d, or set another name or price",
			operation.ErrFlagConflict, r.Flag, firsts[0].Num)
	}
	goods, err := readGoods(db, r.GoodsID)
	if err != nil {
		return operation.Goods{}, unresolved(errors.Join(cause, err))
	}
	return goods, nil
}
