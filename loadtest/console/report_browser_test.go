//go:build browser

package console_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
)

// fired fires orders and returns the record of "loadtest fire --report".
func (s *stage) fired(t *testing.T) *console.Record {
	t.Helper()
	h, err := fire.Run(t.Context(), fire.Config{
		Target: s.lab.Target(), Orders: 300, Concurrency: 32, Mix: fire.Mix{Goods: 1, Stock: 100, NumMax: 1, ItemsMax: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Run(t.Context(), verify.Config{
		Databases: s.lab.Databases(), History: h, Settle: verify.DefaultSettle,
	})
	if err != nil {
		t.Fatal(err)
	}
	record, err := console.RecordOf(t.Context(), h, v, s.lab.Databases(), "loadtest fire")
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestReportNeedsNoServer opens the reports of a played run and of fired orders from the disk, with the network off,
// with and without scripts. They show the record and the verdict.
func TestReportNeedsNoServer(t *testing.T) {
	s := theStage(t)
	s.play(t, "A", catalogue.Fixed)
	played, err := s.console.Await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, "about:blank")
	tell(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
	})
	for name, record := range map[string]*console.Record{"report": played, "report-fired": s.fired(t)} {
		file := filepath.Join(t.TempDir(), "report.html")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(console.WriteReport(f, record), f.Close()); err != nil {
			t.Fatal(err)
		}
		v, hold := record.Verdict, 0
		for _, i := range v.Invariants {
			if i.Violations == 0 {
				hold++
			}
		}
		for _, scripts := range []bool{true, false} {
			tell(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
			b.do(chromedp.Navigate("file://" + file))
			b.await(10*time.Second, `document.querySelector("#report h1")`)
			if made := eval[bool](b, `!!document.querySelector("#report .invariants")`); made != scripts {
				t.Errorf("%s: the script ran: %t", name, made)
			}
			if word := b.text("#report h1 .verdict"); !strings.HasSuffix(word, strings.ToUpper(string(v.Outcome))) {
				t.Errorf("%s, scripts: %t; its word is %q, want the one of %s", name, scripts, word, v)
			}
			says := []string{record.Hero.Sentence, record.Hero.Word, record.Row.Seed}
			if scripts {
				says = append(says, fmt.Sprintf("Of %d things that must hold, %d hold", len(v.Invariants), hold),
					fmt.Sprintf("%d confirmed · %d rejected · %d cancelled", v.Confirmed, v.Rejected, v.Cancelled))
			} else {
				says = append(says, v.String())
			}
			for _, want := range says {
				if !b.says("#report", want) {
					t.Errorf("%s, scripts: %t; it does not say %q: %s", name, scripts, want, b.text("#report"))
				}
			}
			b.picture(fmt.Sprintf("%s-scripts-%t", name, scripts), 1000, 1200, true)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, "file://") && !strings.HasPrefix(r, "data:") && !strings.HasPrefix(r, "about:") {
			t.Errorf("the report asks for %s", r)
		}
	}
	for _, e := range b.errors {
		t.Errorf("the report's console says: %s", e)
	}
}
