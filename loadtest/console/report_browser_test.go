//go:build browser

package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// TestReportOfFiredOrders makes the report of "loadtest fire --report" and opens it with the network off, with and
// without scripts. It says what verdict.json says.
func TestReportOfFiredOrders(t *testing.T) {
	s := theStage(t)
	s.stocked(t)
	folder := t.TempDir()
	h, err := fire.Run(t.Context(), fire.Config{
		Target: s.lab.Target(), Orders: 300, Concurrency: 32, Mix: fire.Mix{Goods: 1, Stock: 100, NumMax: 1, ItemsMax: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	judged, err := verify.Run(t.Context(), verify.Config{
		Databases: s.lab.Databases(), History: h, Settle: verify.DefaultSettle,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := history.SaveJSON(filepath.Join(folder, "verdict.json"), judged); err != nil {
		t.Fatal(err)
	}
	record, err := console.RecordOf(t.Context(), h, judged, s.lab.Databases(), "loadtest fire")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := console.WriteReport(f, record); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var v verify.Verdict
	text, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}

	b := open(t, "about:blank")
	tell(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
	})
	for _, test := range []struct {
		scripts bool
		counts  string
	}{
		{true, fmt.Sprintf("%d confirmed · %d rejected · %d cancelled", v.Confirmed, v.Rejected, v.Cancelled)},
		{false, v.String()},
	} {
		tell(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !test.scripts})
		b.do(chromedp.Navigate("file://" + f.Name()))
		b.await(10*time.Second, `document.querySelector("#report h1")`)
		if made := eval[bool](b, `!!document.querySelector("#report .invariants")`); made != test.scripts {
			t.Errorf("scripts: %t; the script ran: %t", test.scripts, made)
		}
		word := b.text("#report h1 .verdict")
		if !strings.HasSuffix(word, strings.ToUpper(string(v.Outcome))) {
			t.Errorf("scripts: %t; the report's word is %q, want the one of %s", test.scripts, word, &v)
		}
		if !b.says("#report", test.counts) {
			t.Errorf("scripts: %t; the report does not say %q: %s", test.scripts, test.counts, b.text("#report"))
		}
	}
}
