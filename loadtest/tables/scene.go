package tables

import (
	"context"
	"database/sql"
	"fmt"

	"orderstock/loadtest/lanes"
	"orderstock/loadtest/report"
	"orderstock/loadtest/trial"
	"orderstock/pkg/mysqldb"
)

// sceneOf returns what happened in a run of the fault that is judged; nil if its events do not show it. It reads the
// events of the services, which still run, and the run's rows.
func (p *Player) sceneOf(ctx context.Context, f Fault, run Run, of *trial.Result, b Books) (*lanes.Scene, error) {
	if f.Scene == nil {
		return nil, nil
	}
	s := p.Board.System
	r := &lanes.Run{
		Broken: run.Variant == Broken, Before: p.Runs.broken(run), History: of.History, Placed: of.Placed, Books: b.line(),
	}
	for _, service := range s.Replicas() {
		if !service.Running() {
			continue
		}
		events, err := service.Events(ctx)
		if err != nil {
			return nil, err
		}
		r.Events = append(r.Events, events...)
	}
	var err error
	if r.Orders, err = readOrders(ctx, s.OrderDB); err == nil {
		r.Flows, err = readFlows(ctx, s.StockDB)
	}
	if err != nil {
		return nil, fmt.Errorf("read the rows of the run: %w", err)
	}
	scene := f.Scene(r)
	if scene == nil && run.Variant == Here {
		scene = lanes.Together(r)
	}
	scene.Compare(r.Before)
	return scene, nil
}

// line says what the books say, in a few words.
func (b Books) line() string {
	return report.English.Sprintf("%d in, %d sold, %d there", b.in, b.Sold, b.There)
}

// readOrders reads all orders of services that no other run had, by ascending id.
func readOrders(ctx context.Context, db *sql.DB) ([]lanes.Order, error) {
	columns := func(o *lanes.Order) []any { return []any{&o.ID, &o.Key, &o.Status} }
	return mysqldb.All(ctx, db, columns,
		"SELECT id, COALESCE(idempotency_key, ''), status FROM orders ORDER BY id")
}

// readFlows reads the ledger, without the restocks.
func readFlows(ctx context.Context, db *sql.DB) ([]lanes.Flow, error) {
	columns := func(f *lanes.Flow) []any { return []any{&f.Flag, &f.Goods, &f.Num} }
	return mysqldb.All(ctx, db, columns,
		"SELECT flag, goods_id, num FROM stock_flow WHERE kind IN ('deduct', 'restore')")
}
