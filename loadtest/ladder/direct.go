package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/pkg/batch"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
)

// Direct is the upper limit for every strategy: the statements of grouped's deductions and of whole orders, in
// groups, sent to MySQL by the load tester's own process. There is no service, no HTTP, no flag in Redis and no lock.
const Direct = "direct"

// direct makes deductions and orders without a service.
type direct struct {
	stockDB, orderDB *gorm.DB
	ledger           *stockdb.DB
	orders           *orderdb.DB
	flows            *batch.Queue[string, []operation.Flow] // shared, as the order service's calls are
	deducter         deduct.Strategy
	ids              atomic.Int64
	prices           sync.Map // by product
}

// openDirect opens the databases of the stack's services, with as many connections as the services have.
func openDirect(st *system.System) (*direct, error) {
	orderDSN, stockDSN := st.ServiceDSNs()
	d := &direct{}
	var err error
	if d.stockDB, err = mysqldb.Open(stockDSN, mysqldb.Options{MaxConns: 64}); err != nil {
		return nil, err
	}
	if d.orderDB, err = mysqldb.Open(orderDSN, mysqldb.Options{}); err != nil {
		return nil, errors.Join(err, mysqldb.Close(d.stockDB))
	}
	d.ledger, d.orders = stockdb.New(d.stockDB), orderdb.New(d.orderDB)
	d.flows = batch.Shared(func(ctx context.Context, flags []string) ([]operation.Flow, error) {
		return d.ledger.Flows(ctx, flags...)
	})
	d.deducter, err = deduct.New("grouped-rows", deduct.Config{Ledger: d.ledger})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.ids.Store(time.Now().UnixMilli() << 20)
	return d, nil
}

func (d *direct) close() error {
	var err error
	if d.deducter != nil {
		err = d.deducter.Close()
	}
	d.flows.Close()
	d.ledger.Close()
	d.orders.Close()
	return errors.Join(err, mysqldb.Close(d.stockDB), mysqldb.Close(d.orderDB))
}

// deduct makes a deduction as fire.Config.Deduct wants it.
func (d *direct) deduct(ctx context.Context, flag string, items []history.Item) (operation.Operation, error) {
	items, err := operation.NewItems(items)
	if err != nil {
		return operation.Operation{}, err
	}
	return d.deducter.Deduct(ctx, stock.Request{Flag: flag, Items: items})
}

// place makes an order with all its statements: insert, deduct, read the ledger, settle.
func (d *direct) place(ctx context.Context, key string, items []history.Item) (fire.Placed, error) {
	o := order.Order{ID: d.ids.Add(1), Status: order.Pending, Key: key, CreatedAt: time.Now().UTC()}
	o.UpdatedAt = o.CreatedAt
	wanted, err := operation.NewItems(slices.Clone(items))
	if err != nil {
		return fire.Placed{}, err
	}
	hash := history.BodyHash(wanted)
	o.BodyHash = string(hash[:])
	for _, item := range wanted {
		price, err := d.price(ctx, item.GoodsID)
		if err != nil {
			return fire.Placed{}, err
		}
		o.Items, o.Prices = append(o.Items, item), append(o.Prices, price)
		o.Total += price * item.Num
	}
	stored, inserted, err := d.orders.Insert(ctx, o)
	if err != nil || !inserted {
		return fire.Placed{}, errors.Join(err, fmt.Errorf("order %d: inserted is %t", stored.ID, inserted))
	}
	if _, err := d.deduct(ctx, o.Flag(), wanted); err != nil {
		return fire.Placed{}, err
	}
	recorded, err := d.ledger.Find(ctx, o.Flag())
	if err != nil {
		return fire.Placed{}, err
	}
	if _, err := d.flows.Do(ctx, o.Flag()); err != nil {
		return fire.Placed{}, err
	}
	op, end := recorded[o.Flag()], order.Rejected
	if op.State == operation.Done {
		end = order.Confirmed
	}
	moved, err := d.orders.Move(ctx, order.Move{ID: o.ID, From: order.Pending, To: end, Reason: op.Reason})
	if err != nil || !moved {
		return fire.Placed{}, errors.Join(err, fmt.Errorf("order %d: moved is %t", o.ID, moved))
	}
	return fire.Placed{Order: o.ID, Total: o.Total, Status: history.ParseStatus(string(end))}, nil
}

// price reads a product's price once. An order service reads it every two seconds.
func (d *direct) price(ctx context.Context, id int64) (int64, error) {
	if price, ok := d.prices.Load(id); ok {
		return price.(int64), nil
	}
	goods, err := d.ledger.Goods(ctx, id)
	if err != nil || len(goods) != 1 {
		return 0, errors.Join(err, fmt.Errorf("product %d: found %d", id, len(goods)))
	}
	d.prices.Store(id, goods[0].Price)
	return goods[0].Price, nil
}
