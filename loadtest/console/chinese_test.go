package console_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/history"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// problems returns the formats of the problems that the package in a folder answers with.
func problems(t *testing.T, dir string) (formats []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{"conflict": 0, "invalid": 0, "notFound": 0, "NewProblem": 2} // of the format
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if at, ok := places[name]; ok && at < len(call.Args) {
				formats = append(formats, literal(t, call.Args[at]))
			}
			return true
		})
	}
	return formats
}

// literal returns the value of a string literal, or of several that are added; "" for another expression.
func literal(t *testing.T, of ast.Expr) string {
	t.Helper()
	switch of := of.(type) {
	case *ast.BinaryExpr:
		return literal(t, of.X) + literal(t, of.Y)
	case *ast.BasicLit:
		text, err := strconv.Unquote(of.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return ""
}

// TestProblemsAreChinese, too: what the page shows to a reader whose request is refused, and what came of an act.
func TestProblemsAreChinese(t *testing.T) {
	all, verb, seen := chinese(t), regexp.MustCompile(`%(?:\.\d)?([a-z])`), 0
	for _, dir := range []string{".", "../tables", "../trial"} {
		for _, format := range problems(t, dir) {
			n := 0
			text := verb.ReplaceAllStringFunc(format, func(found string) string {
				n++
				value := fmt.Sprintf("{%d}", n)
				if found == "%q" {
					value = `"` + value + `"`
				}
				return value
			})
			if verb.ReplaceAllString(format, "") == "" { // another error's text, or a constant: serverTexts has it
				continue
			}
			seen++
			if all.Server[text] == "" {
				t.Errorf("%s answers %q, which has no Chinese text", dir, text)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d problems are found", seen)
	}
	_, noFault := tables.Find("z")
	_, noStrategy := deduct.Find("x")
	var many tables.Custom
	many.Load.Mix.Zipf = 1e9
	server := attached(t, console.ServerConfig{Token: token}).Handler()
	refused := func(request, body string) string {
		var problem struct{ Detail string }
		_ = json.Unmarshal(ask(t, server, request, body, bearing(nil)).Body.Bytes(), &problem)
		return problem.Detail
	}
	for _, text := range []string{
		noFault.Error(), noStrategy.Error(), strings.TrimPrefix(many.Validate().Error(), "invalid: "),
		trial.Action{Action: "kill", Target: "stock-1"}.Words(),
		trial.Action{Action: "arm-kill", Target: "stock-1", When: "before", Step: "commit"}.Words(),
		trial.Action{Action: "cut", Target: "stock-1", Wire: "mysql"}.Words(),
		"nothing is running", "stopping; the run so far is judged", "everything is whole again",
		refused("POST http://127.0.0.1/api/orders", `{"items": [{"goods_id": "1", "num": 1.5}], "key": "k"}`),
		refused("GET http://127.0.0.1/api/orders/x", ""),
		refused("GET http://127.0.0.1/api/runs/x", ""),
		refused("POST http://127.0.0.1/api/heal", "{}"),
		refused("POST http://127.0.0.1/api/play", `{"fault": "A", "variant": "broken", "seed": "-1"}`),
	} {
		if text == "" || texts.Chinese().Say(text) == text {
			t.Errorf("%q has no Chinese text", text)
		}
	}
}

// TestReportIsChinese, too, as is the page without a token for a reader who asks for it: no English word is left, apart
// from code and names.
func TestReportIsChinese(t *testing.T) {
	scene, err := os.ReadFile("testdata/scenes/c.json")
	if err != nil {
		t.Fatal(err)
	}
	record := tables.Record{
		Run: tables.Run{
			ID: "20261129-120000.000-1", Title: "The flag is deleted, then the process dies", Fault: "C", Variant: tables.Broken,
			Seed: 42, Orders: 200, OrdersPerS: 50, P99MS: 40, Verdict: verify.Violation,
			Sentence: "1 order can never be deducted: each retry is taken for a repeat",
		},
		Samples: []tables.Sample{{TMS: 250, OrdersPerS: 80, Confirmed: 40, Rejected: 20, Failed: 20, P50MS: 4, P99MS: 90}},
		Log:     []tables.Entry{{Text: "the first order is sent"}, {Text: "fired: kill stock-1"}},
		Verdict: &verify.Verdict{Outcome: verify.Violation, Invariants: []verify.Invariant{
			{Name: verify.Settled, Says: verify.Says(verify.Settled), Violations: 1, Sample: []string{"order 7"}},
		}},
		Faults:  []trial.Shown{{What: "kill", Where: "stock-1", Status: "fired", Fired: 1}},
		Compare: &tables.Compare{What: "orders per second", Broken: 1, BrokenSays: "a session for each lock"},
		Books: tables.Books{
			Unequal: "Sold is 2 more than Out: answers to cancellations on their way, or wrong answers.",
			Rows: []tables.BookRow{
				{Name: "product 1", In: 3, There: 5, Disagreement: "3 in, 0 out, 0 back make 3, but 5 are there"},
			},
		},
	}
	if err := json.Unmarshal(scene, &record.Scene); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := history.SaveJSON(filepath.Join(dir, "runs", record.Run.ID, "run.json"), record); err != nil {
		t.Fatal(err)
	}
	server := attachedIn(t, dir, console.ServerConfig{Token: token}).Handler()
	get := func(path string, header http.Header) string {
		return ask(t, server, "GET http://127.0.0.1"+path, "", header).Body.String()
	}
	right := tables.Run{Seed: 43, Verdict: verify.Pass, Sentence: "sold 445 of 20,000", OrdersPerS: 90}
	var tour strings.Builder
	if err := (tables.Pairs{
		{Letter: "C", Broken: record.Run, Fixed: right, Here: right, BrokenScene: record.Scene, HereScene: record.Scene},
		{Letter: "E", Broken: right, Fixed: right, Here: right},
		{Letter: "H", Kind: "time", Broken: record.Run, Fixed: right, Here: right},
	}).Sheet().Write(&tour); err != nil {
		t.Fatal(err)
	}
	const locked = "the page without a token"
	reports := map[string]string{
		"the report of a run":    get("/api/runs/"+record.Run.ID+"/report", bearing(nil)),
		"the report of the tour": tour.String(),
		locked:                   get("/", http.Header{"Accept-Language": {"zh-CN,zh;q=0.9,en;q=0.8"}}),
	}
	for name, wants := range map[string][]string{
		"the report of a run": {"发生了什么", "违规", "得到应答：失败", "每秒应答的订单", "违反次数"},
		"the report of the tour": {
			"3 个故障中有 2 个", "错误版的表现", "没有这个故障时，每秒订单数是 1.8 倍", "这次没有出现", "得到应答：失败", "C，实际版",
			"（种子 43）",
		},
		locked: {"本页需要控制台的令牌"},
	} {
		english, chinese, both := strings.Cut(reports[name], `lang="zh-CN">`+"\n<header>")
		if name == locked {
			chinese = english
		} else if !both || !strings.Contains(english, "What happened") && !strings.Contains(english, "with the fault") {
			t.Errorf("%s is not in both languages", name)
		}
		for _, want := range wants {
			if !strings.Contains(chinese, want) {
				t.Errorf("%s does not say %s", name, want)
			}
		}
		shown := regexp.MustCompile(`(?s)<style>.*?</style>|VERDICT: [^\n<]*|<[^>]*>`)
		for _, word := range regexp.MustCompile(latinWord).FindAllString(shown.ReplaceAllString(chinese, "\n"), -1) {
			if !slices.Contains(append(strings.Fields(names), "UTC", "kill"), word) {
				t.Errorf("%s: %q is not Chinese", name, word)
			}
		}
	}
	for _, language := range []string{"", "fr-FR", "en-GB,zh;q=0.5"} {
		page := get("/", http.Header{"Accept-Language": {language}})
		if !strings.Contains(page, `<html lang="en">`) || strings.Contains(page, "的") {
			t.Errorf("%s is not English for %q", locked, language)
		}
	}
}
