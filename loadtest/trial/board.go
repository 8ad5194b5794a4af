package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/system"
)

// Shown describes an act on a Board. Times are in milliseconds since the run began; 0 means not yet.
type Shown struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Where    string `json:"where"`          // a replica or a server; "" if there is none
	Wire     string `json:"wire,omitempty"` // where the connection leads to that is struck
	Status   string `json:"status"`         // armed, fired or healed
	Fired    int    `json:"fired"`
	Counted  bool   `json:"counted"` // Fired is a count; otherwise it only shows whether it struck
	ArmedMS  int64  `json:"armed_ms"`
	FiredMS  int64  `json:"fired_ms,omitempty"`
	HealedMS int64  `json:"healed_ms,omitempty"`
	ByHand   bool   `json:"by_hand,omitempty"`

	act     *Act
	endedMS int64 // when Heal ended an act by hand
}

func (s Shown) String() string { return strings.TrimSpace(s.What + " " + s.Where) }

// Board lists the acts on a system since its services were started, by a run or by hand. It reads from the processes,
// the connections and the fault points how often each act has struck, and whether it lasts. It is safe for concurrent
// use: the services are replaced, one act by hand is armed, or all are healed, at a time. The fields are set before its
// first use; the functions do not call the board.
//
// A run on a board heals all when its acts are over, and goes on if one fails. Once its context ends, the run so far is
// judged.
type Board struct {
	System *system.System
	// SinceMS returns the milliseconds since the run began.
	SinceMS func() int64
	// Declared returns the flags and keys of orders that others have placed.
	Declared func() []string
	// Watch is called with what happens.
	Watch Watch

	acting  sync.Mutex // held while the services are replaced, an act by hand is armed, or all are healed
	started bool       // services
	reading sync.Mutex
	mu      sync.Mutex // guards what follows
	all     []Shown
}

// Start starts services on empty databases. It restarts dead servers first, and forgets all acts. Unless again is true,
// it leaves services that it has started before.
func (b *Board) Start(ctx context.Context, v Services, again bool) error {
	b.acting.Lock()
	defer b.acting.Unlock()
	if b.started && !again {
		return nil
	}
	b.started = true
	if err := b.System.RepairServers(ctx); err != nil {
		return fmt.Errorf("start services: %w", err)
	}
	b.mu.Lock()
	b.all = nil
	b.mu.Unlock()
	b.Watch("faults", []Shown{})
	b.Watch("starting", v)
	err := ctx.Err()
	if err == nil {
		err = v.Start(ctx, b.System)
	}
	b.Watch("started", Started{v, err})
	if err != nil {
		return fmt.Errorf("start services: %w", err)
	}
	return nil
}

// Act arms an action by hand. It lasts until Heal, or until another act ends it.
func (b *Board) Act(ctx context.Context, a Action) error {
	b.acting.Lock()
	defer b.acting.Unlock()
	act, at := New(b.System, a), b.SinceMS()
	if err := act.Arm(ctx); err != nil {
		return err
	}
	b.add(ctx, act, at, true)
	return nil
}

// add lists an act that is armed since that time of the run.
func (b *Board) add(ctx context.Context, act *Act, atMS int64, byHand bool) {
	a, shown := act.Action, act.Action
	if !a.atStep() {
		shown.Step = ""
	}
	b.mu.Lock()
	b.all = append(b.all, Shown{
		ID: strconv.Itoa(len(b.all) + 1), What: shown.What(), Where: a.Target, Wire: a.Wire, Status: "armed",
		Counted: act.Count != nil, ArmedMS: atMS, ByHand: byHand, act: act,
	})
	b.mu.Unlock()
	b.Watch("faults", b.Acts())
	text := ""
	if act.Count != nil {
		text = "armed: "
	}
	b.Watch("log", text+a.Words())
	b.Read(ctx)
}

// Read reads how often each act that lasts has struck, and whether it still lasts.
func (b *Board) Read(ctx context.Context) {
	b.reading.Lock()
	defer b.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for i, before := range b.Acts() {
		now := before.read(ctx, b.SinceMS())
		if now == before {
			continue
		}
		b.mu.Lock()
		if i < len(b.all) && b.all[i].act == now.act { // else the services were replaced
			now.endedMS = b.all[i].endedMS
			b.all[i] = now
		}
		b.mu.Unlock()
		if now.Counted && before.Fired == 0 && now.Fired > 0 {
			b.Watch("log", "fired: "+now.String())
		}
		b.Watch("faults", b.Acts())
	}
}

// read returns the act as it is now.
func (s Shown) read(ctx context.Context, now int64) Shown {
	if s.Status == "healed" {
		return s
	}
	if n, err := s.act.strikes(ctx); err == nil { // the server that counts may be away
		s.Fired = max(s.Fired, n)
	}
	if s.Fired > 0 && s.Status == "armed" {
		s.Status, s.FiredMS = "fired", now
	}
	if s.act.On == nil || !s.act.On(ctx) {
		s.Status, s.HealedMS = "healed", now
	}
	return s
}

// Acts returns all acts.
func (b *Board) Acts() []Shown {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Shown{}, b.all...)
}

// ByHand returns the acts by hand as actions of a run that does the same.
func (b *Board) ByHand() (all []Action) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		if !s.ByHand {
			continue
		}
		a := s.act.Action
		a.AfterMS = int(s.ArmedMS)
		if lasted := s.endedMS - s.ArmedMS; lasted > 0 {
			a.For = time.Duration(lasted) * time.Millisecond
		}
		all = append(all, a)
	}
	return all
}

// over reports whether an act of the list lasts no more.
func (b *Board) over(a *Act) bool {
	return slices.ContainsFunc(b.Acts(), func(s Shown) bool { return s.act == a && s.Status == "healed" })
}

// Heal makes everything whole again: the servers, then the connections, then the replicas, which are ready only once
// they reach the servers. What cannot be healed is tried again the next time.
func (b *Board) Heal(ctx context.Context) error {
	b.acting.Lock()
	defer b.acting.Unlock()
	errs := []error{b.System.RepairServers(ctx), b.System.MendWires(ctx)}
	all := b.Acts()
	for i, s := range all {
		if s.ByHand && s.Status != "healed" {
			if err := s.act.Heal(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s, err))
			}
			b.mu.Lock()
			b.all[i].endedMS = b.SinceMS()
			b.mu.Unlock()
		}
	}
	err := errors.Join(append(errs, b.System.RepairReplicas(ctx))...)
	b.Read(ctx)
	if err != nil {
		b.Watch("error", "not healed: "+err.Error())
	} else if len(all) > 0 {
		b.Watch("log", "healed: everything is whole again")
	}
	return err
}
