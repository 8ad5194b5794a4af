package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	k := &keeper{dir, keptRun{Form: evidenceForm, Version: command.Version(), Asked: cfg.File.Queries(), Hosts: cfg.Hosts}}
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
// books.void may have been changed since. It sends nothing and asks no database. An error means that the folder has no
// such evidence, or that the file is wrong or has a query whose rows were not kept.
func Again(dir string) (*Result, error) {
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
	for name, query := range f.Queries() {
		if was, found := kept.Asked[name]; !found || was.Text() != query.Text() {
			return nil, fmt.Errorf("books.%s has another query than the one whose rows were kept: run the judge for it", name)
		}
	}
	r := kept.Result
	again := &Result{
		File: r.File, Target: r.Target, Run: r.Run, Seed: r.Seed, Outcome: verify.Pass, AnswersAlone: r.AnswersAlone,
		Reasons: r.Reasons,
	}
	if len(r.Reasons) > 0 {
		again.Outcome = verify.Unknown
	}
	for _, name := range kept.Phases {
		var p keptPhase
		if err := readKept(dir, name+".json", &p); err != nil {
			return nil, fmt.Errorf("folder %s: %w", dir, err)
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
	for _, o := range e.Orders {
		for i := range o.Calls {
			c := &o.Calls[i]
			if c.Answer == nil {
				continue
			}
			reading := f.Read(c.Answer, o.Vars)
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

// withoutAnswers returns calls without their whole answers.
func withoutAnswers(calls []Call) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Answer = nil
	}
	return calls
}
