package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"orderstock/pkg/command"
)

// execute runs the program, and returns what it printed and its exit code.
func execute(ctx context.Context, args ...string) (out, errs string, exit int) {
	var stdout, stderr bytes.Buffer
	cmd := newCommand(&stdout, &stderr)
	cmd.SetArgs(args)
	exit = command.Run(ctx, cmd)
	return stdout.String(), stderr.String(), exit
}

// shopFile writes a file for a shop with five pieces at that address.
func shopFile(t *testing.T, target string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "shop.yaml")
	err := os.WriteFile(name, []byte(`target: `+target+`
stock: {"1": 5}
order: {post: /, headers: {Idempotency-Key: "{{key}}"}, repeats: none}
answers:
  - {status: 201, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// seller sells so many pieces.
func seller(t *testing.T, pieces int64) (address string) {
	t.Helper()
	var sold atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := sold.Add(1)
		if n > pieces {
			http.Error(w, "sold out", http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":%d}`, n)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestItExitsAsItJudges(t *testing.T) {
	t.Parallel()
	report, junit := filepath.Join(t.TempDir(), "out", "report.html"), filepath.Join(t.TempDir(), "out", "junit.xml")
	for name, c := range map[string]struct {
		args []string
		exit int
		want string
	}{
		"pass": {
			[]string{shopFile(t, seller(t, 5)), "--phase", "alone"},
			0,
			"\nchecked 4 of 12\n  not checked: one-answer-per-key: no order was sent twice",
		},
		"pass, by answers": {
			[]string{shopFile(t, seller(t, 5)), "--phase", "alone"}, 0, "VERDICT: PASS alone=pass, by the answers alone",
		},
		"violation": {
			[]string{shopFile(t, seller(t, 9)), "--phase", "together", "--report", report, "--junit", junit},
			1,
			"not-oversold: 9 pieces of product 1 were accepted, and there were 5",
		},
		"unknown": {[]string{shopFile(t, seller(t, 0)), "--phase", "alone"}, 2, "unknown: no order was accepted"},
		"all phases, without reset": {
			[]string{shopFile(t, seller(t, 5))}, 2, "VERDICT: UNKNOWN alone=pass together=unknown",
		},
		"try": {[]string{"try", shopFile(t, seller(t, 5))}, 0, "read as: accepted, order 1 (answer 1)"},
		"a search": {
			[]string{shopFile(t, seller(t, 9)), "--phase", "together", "--for", "1m"},
			1, "\nthe calls that met:\n  curl -sS -X POST 'http://127.0.0.1:",
		},
		"no time":       {[]string{shopFile(t, seller(t, 5)), "--for", "-1s"}, 64, "want a time above 0"},
		"a wrong phase": {[]string{shopFile(t, seller(t, 5)), "--phase", "night"}, 64, `phase "night": want alone`},
		"a wrong line":  {[]string{shopFile(t, "x://y")}, 65, `shop.yaml: line 1, column 1: target "x://y": want http`},
		"no clients":    {[]string{shopFile(t, seller(t, 5)), "--clients", "0"}, 64, `"--clients" flag: want 1 to 1000`},
		"no file":       {[]string{"none.yaml"}, 65, "no such file"},
		"new":           {[]string{"new", "--curl", "curl http://127.0.0.1/buy -d a=1"}, 0, `post: "/buy"`},
		"new, of an example": {
			[]string{"new", "--example", "payment"}, 0, "# A shop with https, users who exist already, and a payment",
		},
		"new, of no example": {
			[]string{"new", "--example", "shoes"}, 64, `no example "shoes"; there are appointments, coupons, orderstock,`,
		},
		"new, of an operation of an example": {
			[]string{"new", "--example", "seats", "--operation", "buy"}, 64, "none of the others can be",
		},
		"new, of none":    {[]string{"new"}, 64, "at least one of the flags"},
		"new, of no file": {[]string{"new", "--har", "none.har"}, 65, "no such file"},
		"new, of another file": {
			[]string{"new", "--openapi", shopFile(t, "http://127.0.0.1:1")}, 65, "shop.yaml: ",
		},
		"again, of no folder": {[]string{"again", "none"}, 65, "no evidence of the judge"},
		"new, of nothing":     {[]string{"new", "--curl", "curl"}, 64, "the command has no address"},
	} {
		out, errs, exit := execute(t.Context(), c.args...)
		if exit != c.exit || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit code %d, want %d, and %q in\n%s%s", name, exit, c.exit, c.want, out, errs)
		}
	}
	page, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(page), "9 pieces of product 1 were accepted") {
		t.Errorf("the report: %v\n%s", err, page)
	}
	var read struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile(junit)
	if err == nil {
		err = xml.Unmarshal(text, &read)
	}
	if err != nil || len(read.Suites) != 1 || read.Suites[0].Name != "together" || read.Suites[0].Failures != 1 ||
		len(read.Suites[0].Cases) != 12 || read.Suites[0].Cases[0].Failure == nil ||
		!strings.Contains(read.Suites[0].Cases[0].Failure.Text, "first  at") {
		t.Errorf("the report of JUnit: %v\n%s", err, text)
	}
}

// A document has several operations: its user names one, or is asked.
func TestNewAsksWhichOperationOrders(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "shop.har")
	const har = `{"log":{"entries":[{"request":{"method":"POST","url":"http://127.0.0.1/login"}},
		{"request":{"method":"POST","url":"http://127.0.0.1/orders"}}]}}`
	if err := os.WriteFile(name, []byte(har), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, operation string
		exit          int
		want          string
	}{
		{"\n", "", 0, `post: "/orders"`},
		{"2\n", "", 0, `post: "/login"`},
		{"", "post /login", 0, `post: "/login"`},
		{"", "", 64, "no operation was chosen: give --operation, one of\n  1  POST /orders"},
		{"3\n", "", 64, "want a number from 1 to 2"},
		{"", "order", 64, `there is no operation "order"; there are`},
	} {
		var stdout, stderr bytes.Buffer
		cmd := newCommand(&stdout, &stderr)
		cmd.SetIn(strings.NewReader(c.in))
		cmd.SetArgs([]string{"new", "--har", name, "--operation", c.operation})
		exit := command.Run(t.Context(), cmd)
		if exit != c.exit || !strings.Contains(stdout.String()+stderr.String(), c.want) {
			t.Errorf("%+v: exit code %d\n%s%s", c, exit, &stdout, &stderr)
		}
	}
}

// An interrupted judgement is no pass, whatever the phases before it showed.
func TestAnInterruptedJudgementIsNoPass(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"all phases": nil, "one": {"--phase", "alone"}, "try": {"try"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		var calls atomic.Int64
		shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) == 5 {
				interrupt()
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"id":%d}`, calls.Load())
		}))
		out, errs, exit := execute(ctx, append(args, shopFile(t, shop.URL))...)
		if ctx.Err() == nil || exit != command.Unknown || strings.Contains(out, "VERDICT: PASS") {
			t.Errorf("%s: exit code %d after %d calls\n%s%s", name, exit, calls.Load(), out, errs)
		}
		shop.Close()
		interrupt()
	}
}

// The evidence is judged again after a change of the file.
func TestItJudgesAgain(t *testing.T) {
	t.Parallel()
	dir, file := filepath.Join(t.TempDir(), "evidence"), shopFile(t, seller(t, 5))
	change := func(name, old, new string) {
		t.Helper()
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, bytes.Replace(text, []byte(old), []byte(new), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(file, "contains: sold out", "contains: no more")
	args := []string{file, "--phase", "alone", "--out", dir}
	out, errs, exit := execute(t.Context(), args...)
	if exit != 2 || !strings.Contains(out, "is the refusal under answers?") {
		t.Fatalf("exit code %d\n%s%s", exit, out, errs)
	}
	change(filepath.Join(dir, "shop.yaml"), "contains: no more", "contains: sold out")
	out, errs, exit = execute(t.Context(), "again", dir)
	if exit != 0 || !strings.Contains(out, "alone      PASS       orders=10 accepted=5 rejected=5") {
		t.Errorf("exit code %d\n%s%s", exit, out, errs)
	}
	if out, errs, exit := execute(t.Context(), args...); exit == 0 || !strings.Contains(errs, "is not empty") {
		t.Errorf("into the same folder: exit code %d\n%s%s", exit, out, errs)
	}
}

func TestItPrintsJSON(t *testing.T) {
	t.Parallel()
	out, errs, _ := execute(t.Context(), shopFile(t, seller(t, 9)), "--phase", "alone", "--json")
	var result struct {
		Verdict string `json:"verdict"`
		Phases  []struct {
			Violations []struct {
				Examples []struct {
					Calls []struct {
						Status int `json:"status"`
					} `json:"calls"`
				} `json:"examples"`
			} `json:"violations"`
		} `json:"phases"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if result.Verdict != "violation" || result.Phases[0].Violations[0].Examples[0].Calls[0].Status != http.StatusCreated ||
		!strings.Contains(errs, "VERDICT: VIOLATION") {
		t.Errorf("printed\n%s\nand\n%s", out, errs)
	}
}
