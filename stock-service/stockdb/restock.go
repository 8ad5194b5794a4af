package stockdb

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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

// raiseLevel adds the pieces to the product, and creates it if it is new.
func raiseLevel(tx *gorm.DB, r operation.Restock) error {
	set := map[string]any{"num": gorm.Expr("num + ?", r.Num), "updated_at": now()}
	if r.Name != nil {
		set["name"] = *r.Name
	}
	if r.Price != nil {
		set["price"] = *r.Price
	}
	row := maps.Clone(set)
	row["goods_id"], row["num"] = r.GoodsID, r.Num
	raise := clause.OnConflict{DoUpdates: clause.Assignments(set)}
	if err := tx.Table("stock").Clauses(raise).Create(row).Error; err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	return nil
}

// insertRestock records the restock under its flag.
func insertRestock(tx *gorm.DB, r operation.Restock) error {
	flow := operation.Flow{Flag: r.Flag, GoodsID: r.GoodsID, Kind: operation.KindRestock, Num: r.Num, CreatedAt: now()}
	if err := tx.Table("stock_flow").Create(&flow).Error; err != nil {
		return fmt.Errorf("insert flow: %w", err)
	}
	if err := tx.Table("restocks").Omit("num").Create(&r).Error; err != nil {
		return fmt.Errorf("insert restock: %w", err)
	}
	return nil
}

// ownFlag returns ErrFlagConflict if an operation, or the restock of another product, has the flag too. The
// rows of r are written before: of two transactions that use one flag concurrently, one waits for the other's
// rows here, or both do and the server ends one.
func ownFlag(tx *gorm.DB, r operation.Restock) error {
	for _, query := range []*gorm.DB{
		tx.Table("stock_flow").Where("flag = ? AND (goods_id <> ? OR kind <> 'restock')", r.Flag, r.GoodsID),
		tx.Table("operations").Where("flag = ?", r.Flag),
	} {
		var others int64
		if err := query.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Count(&others).Error; err != nil {
			return fmt.Errorf("look for the flag: %w", err)
		}
		if others > 0 {
			return fmt.Errorf("%w: flag %s belongs to an operation, or to another product's restock", operation.ErrFlagConflict,
				r.Flag)
		}
	}
	return nil
}

func readGoods(tx *gorm.DB, id int64) (goods operation.Goods, err error) {
	if err = tx.Table("stock").Where("goods_id = ?", id).Take(&goods).Error; err != nil {
		err = fmt.Errorf("read stock: %w", err)
	}
	return goods, err
}

// restocked answers a restock whose flag is already in use, or whose commit was not answered. It returns the product if
// the flag was used for this very restock, ErrFlagConflict if it was used for another, and unresolved(cause) if it was
// not used.
func (s *DB) restocked(ctx context.Context, r operation.Restock, cause error) (operation.Goods, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveLimit)
	defer cancel()
	db := s.db.WithContext(ctx)
	var flows []operation.Flow
	var said []operation.Restock // none of a restock that is older than the table
	err := errors.Join(
		db.Table("stock_flow").Where("flag = ? AND goods_id = ? AND kind = 'restock'", r.Flag, r.GoodsID).Find(&flows).Error,
		db.Table("restocks").Where("flag = ? AND goods_id = ?", r.Flag, r.GoodsID).Find(&said).Error)
	switch {
	case err != nil:
		return operation.Goods{}, unresolved(errors.Join(cause, err))
	case len(flows) == 0:
		return operation.Goods{}, unresolved(cause)
	case flows[0].Num != r.Num, len(said) > 0 && (!repeats(said[0].Name, r.Name) || !repeats(said[0].Price, r.Price)):
		return operation.Goods{}, fmt.Errorf("%w: flag %s restocked %d, or set another name or price",
			operation.ErrFlagConflict, r.Flag, flows[0].Num)
	}
	goods, err := readGoods(db, r.GoodsID)
	if err != nil {
		return operation.Goods{}, unresolved(errors.Join(cause, err))
	}
	return goods, nil
}

// repeats reports whether a name or a price agrees with the first one. One that is omitted does not disagree.
func repeats[T comparable](first, again *T) bool {
	return again == nil || first != nil && *first == *again
}
