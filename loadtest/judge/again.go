package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// The files of a folder with evidence. Each phase has another one.
const (
	runFile  = "run.json"
	shopFile = "shop.yaml"
)

// evidenceForm is the form of the files. Again reads no other.
const evidenceForm = 1

// keptRun is the evidence of a run.
type keptRun struct {
	Form    int    `json:"form"`
	Version string `json:"version"` // of the program
	// Servers are the versions of the databases.
	Servers []string `json:"servers,omitempty"`
	// Asked holds the queries of the rows.
	Asked  map[string]shop.Query `json:"asked,omitempty"`
	Dir    string                `json:"dir"` // of the file, where commands run
	Hosts  []string              `json:"hosts,omitempty"`
	Phases []string              `json:"phases"`
	Result *Result               `json:"result"`
}

// keptPhase is the evidence of a phase. Without it, the verdict is for good.
type keptPhase struct {
	Phase    Phase     `json:"phase"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

// keeper keeps the evidence of a run in a folder.
type keeper struct {
	dir string
	run keptRun
}

// newKeeper makes the folder, which must be new or empty.
func newKeeper(cfg Config) (*keeper, error) {
	dir := cfg.Out
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("keep the evidence: the folder %s is not empty; name a new one", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	k := &keeper{dir, keptRun{
		Form: evidenceForm, Version: command.Version(), Asked: cfg.File.Queries(), Dir: cfg.File.Dir, Hosts: cfg.Hosts,
	}}
	if err := os.WriteFile(filepath.Join(dir, shopFile), cfg.File.Text, 0o600); err != nil {
		return nil, fmt.Errorf("keep the evidence: %w", err)
	}
	return k, nil
}

// phase keeps a phase.
func (k *keeper) phase(p Phase, e *Evidence) error {
	k.run.Phases = append(k.run.Phases, p.Name)
	return k.write(p.Name+".json", keptPhase{p, e})
}

// end keeps the result. Without it, the folder is no evidence.
func (k *keeper) end(r *Result, servers []string) error {
	k.run.Result, k.run.Servers = r, servers
	return k.write(runFile, k.run)
}

func (k *keeper) write(name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(filepath.Join(k.dir, name), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the evidence: %w", err)
	}
	return nil
}

// Again judges the evidence that a run has kept in a folder, by the file shop.yaml there. Its answers, books.sold and
// books.void may have been changed since. It sends nothing. If a query was changed, the books are read for the last
// phase, whose rows must still be there, and the other phases are unknown. An error means that the folder has no such
// evidence, that the file is wrong, or that the books cannot be read.
func Again(ctx context.Context, dir string) (*Result, error) {
	var kept keptRun
	if err := readKept(dir, runFile, &kept); err != nil || kept.Form != evidenceForm || kept.Result == nil {
		if err == nil {
			err = errors.New("it is of another version")
		}
		return nil, fmt.Errorf("folder %s has no evidence of the judge that can be read: %w", dir, err)
	}
	f, err := shop.Load(filepath.Join(dir, shopFile), kept.Hosts)
	if err != nil {
		return nil, err
	}
	f.Dir = kept.Dir
	changed := !maps.EqualFunc(f.Queries(), kept.Asked, func(a, b shop.Query) bool { return a.Text() == b.Text() })
	r := kept.Result
	again := &Result{
		File: r.File, Target: r.Target, Run: r.Run, Seed: r.Seed, Outcome: verify.Pass, AnswersAlone: f.Books == nil,
		StepsOnce: len(f.Then) > 0, Reasons: r.Reasons, Shop: shop.WithoutSecrets(string(f.Text)),
	}
	if len(r.Reasons) > 0 {
		again.Outcome = verify.Unknown
	}
	for i, name := range kept.Phases {
		var p keptPhase
		if err := readKept(dir, name+".json", &p); err != nil {
			return nil, fmt.Errorf("folder %s: %w", dir, err)
		}
		if p.Evidence != nil && changed {
			if err := p.Evidence.reread(ctx, f, name, i == len(kept.Phases)-1); err != nil {
				return nil, err
			}
		}
		if p.Evidence != nil {
			p.Phase.Verdict = *p.Evidence.again(f)
		}
		if p.Phase.Skipped == "" {
			again.Outcome = again.Outcome.Or(p.Phase.Outcome)
		}
		again.add(p.Phase)
	}
	return again, nil
}

func readKept(dir, name string, v any) error {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // ids may have more digits than a float holds
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// again reads the answers by the file and judges.
func (e *Evidence) again(f *shop.File) *Verdict {
	if f.Books != nil {
		e.Sold, e.Void = f.Books.Sold, f.Books.Void
	}
	e.Pays = payment(f) > 0
	for _, o := range e.Orders {
		for i := range o.Calls {
			c := &o.Calls[i]
			if c.Answer == nil {
				continue
			}
			reading := c.read(f, o.Vars)
			if c.Kind == Buyer && reading.Means != shop.Rejected {
				reading = shop.Reading{Means: shop.Unknown, Note: c.Note}
			}
			c.Reading = reading
		}
	}
	v := e.judge()
	v.Reasons = append(v.Reasons, e.Unsettled...)
	if len(e.Unsettled) > 0 {
		v.Outcome = v.Outcome.Or(verify.Unknown)
	}
	return v
}

// reread reads the books of the last phase by changed queries. Another phase has none any more.
func (e *Evidence) reread(ctx context.Context, f *shop.File, name string, last bool) error {
	was := e.Before
	e.Before, e.After, e.Unsettled = nil, nil, nil
	if !last {
		e.Unsettled = []string{"a query was changed, and the rows of this phase are gone: it is judged by the answers alone"}
	}
	if !last || f.Books == nil {
		return nil
	}
	reader := books.NewReader(f)
	defer reader.Close()
	now, err := reader.Read(ctx, e.Vars)
	if err != nil {
		return err
	}
	e.index() // of the answers alone
	e.After, e.Before, e.Reread = now, &books.Books{Levels: now.Levels}, true
	if was != nil {
		e.Before.Orders = was.Orders
	}
	own := map[string]bool{}
	for _, row := range now.Orders {
		own[row.ID] = own[row.ID] || e.idOwner[row.ID] != nil || row.Key != "" && e.byKey[row.Key] != nil
	}
	if placed := slices.ContainsFunc(e.Orders, (*Order).placed); placed && now.Orders != nil &&
		!slices.Contains(slices.Collect(maps.Values(own)), true) {
		return fmt.Errorf("the books have no row of an order of the phase %s any more: place the orders again", name)
	}
	older := func(row books.Row) bool { return !own[row.ID] }
	e.Before.Orders = slices.Concat(e.Before.Orders, filter(now.Orders, older))
	e.Before.Deductions = filter(now.Deductions, older)
	return nil
}

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}

// withoutAnswers returns calls without their whole answers.
func withoutAnswers(calls []Call) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Answer = nil
	}
	return calls
}
