package deduct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"orderstock/stock-service/stock"
)

// Strategy is a way of deducting that holds connections of its own.
type Strategy interface {
	stock.Deducter
	// Ready returns nil while the servers that the strategy needs answer.
	Ready(ctx context.Context) error
	// Close ends the strategy's work and drops its connections. No Deduct may be under way.
	Close() error
}

// Ledger is where deductions are carried out.
type Ledger interface {
	// Deduct carries one request out in one transaction.
	Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error)
	// DeductGroup carries many requests out in one transaction.
	DeductGroup(ctx context.Context, requests []stock.Request, held stock.Token) ([]stock.Outcome, error)
	// DeductUnsafe reads the levels and then writes them, as if nobody else did.
	DeductUnsafe(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error)
}

// Config says what a strategy works with.
type Config struct {
	Ledger Ledger
	// ZooKeeper lists the servers, host:port; Root is the node below which the locks are.
	ZooKeeper      []string
	Root           string
	SessionTimeout time.Duration
	// Redis is the host:port of redis-lock's server.
	Redis string
	// LockTimeout bounds the wait for a lock. Default 1.5 s.
	LockTimeout time.Duration
	// WrapLock, if not nil, is put around the acquisition of every lock: tests watch and break it there.
	WrapLock func(Acquire) Acquire
	// AllowUnsafe lets the strategy be one that oversells.
	AllowUnsafe bool
	Log         *slog.Logger
}

// ErrUnsafe refuses a strategy that oversells where that was not allowed.
var ErrUnsafe = errors.New("the strategy oversells; start with --allow-unsafe to see it do so")

// strategies is the one list of them, by name.
var strategies = map[string]func(Config) (Strategy, error){
	"case-study":         newCaseStudy,
	"conditional-update": newConditionalUpdate,
	"grouped":            newGrouped,
	"redis-lock":         newRedisLock,
	"sequential":         newSequential,
	"single-node":        newSingleNode,
	"unsafe":             newUnsafe,
	"zk-lock":            newZKLock,
}

// Names returns the names of the strategies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(strategies)) }

// New returns the strategy of that name.
func New(name string, cfg Config) (Strategy, error) {
	make, ok := strategies[name]
	if !ok {
		return nil, fmt.Errorf("strategy %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	if cfg.LockTimeout <= 0 {
		cfg.LockTimeout = 1500 * time.Millisecond
	}
	strategy, err := make(cfg)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", name, err)
	}
	return strategy, nil
}
