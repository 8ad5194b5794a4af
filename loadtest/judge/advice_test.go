package judge_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// The document has the same advice on each invariant as the report, with a link at its end where there is one.
func TestTheDocumentHasTheAdvice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range judge.Invariants() {
		a := judge.AdviceOn(name)
		if row := fmt.Sprintf("| `%s` | %s | %s", name, a.Means, a.Do); a.Do == "" || !strings.Contains(string(text), row) {
			t.Errorf("README.md has no row\n%s", row)
		}
	}
}

// The files in the document, and its parts of files, can be read.
func TestTheDocumentHasFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const target, answers = "target: http://127.0.0.1:8080\n", "answers: [{status: 201, means: accepted, order: $.id}]\n"
	smallest, read := "", 0
	for i, part := range strings.Split(string(text), "```") {
		file, isYAML := strings.CutPrefix(part, "yaml\n")
		switch {
		case i%2 == 0 || !isYAML || strings.HasPrefix(file, "- run:") || strings.HasPrefix(file, "judge:"):
			continue
		case strings.HasPrefix(file, "target:"):
			smallest = file
		case strings.HasPrefix(file, "reset:"):
			file = smallest + file
		case strings.HasPrefix(file, "order:"):
			file = target + "stock: {\"1\": 100}\n" + file
		default:
			file = target + file + "  repeats: none\n" + answers
		}
		if _, err := shop.Parse([]byte(file), nil); err != nil {
			t.Errorf("%v in\n%s", err, file)
		}
		read++
	}
	if read != 4 {
		t.Errorf("read %d files; want 4", read)
	}
}

// The report says what to do, and has the file without its secrets.
func TestTheReport(t *testing.T) {
	t.Parallel()
	f := parse(t, "", serve(t, &counter{wrong: true})+resetByRequest+strings.Replace(memory, "headers: {",
		`headers: {Authorization: "Bearer abc<def", `, 1))
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	var page bytes.Buffer
	if err := r.Sheet().Write(&page); err != nil || r.Outcome != verify.Violation {
		t.Fatalf("%s, %v", r, err)
	}
	for _, want := range []string{
		"More was sold than there was", "Let one conditional update decide", "<pre>", "Authorization: &#34;…&#34;",
		"one client after another", `<dd>checked 4 of 12</dd>`, "What happened, for example",
		"orders 1 of product 1", "✗ 31 pieces of product 1 were accepted, and there were 20",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, &page)
		}
	}
	if strings.Contains(page.String(), "abc") {
		t.Errorf("the page has a secret:\n%s", &page)
	}
}

// A copy of a file has no secrets, and is the same otherwise.
func TestSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`dsn: postgres://app:s3cret@127.0.0.1/app`:        `dsn: postgres://app:…@127.0.0.1/app`,
		`dsn: "app:s3:c@tcp(127.0.0.1:3306)/app"`:         `dsn: "app:…@tcp(127.0.0.1:3306)/app"`,
		`dsn: postgres://app:{{env.PW}}@127.0.0.1/app`:    `dsn: postgres://app:{{env.PW}}@127.0.0.1/app`,
		`headers: {Authorization: Bearer abc, X: y}`:      `headers: {Authorization: …, X: y}`,
		`headers: {"Authorization": "Bearer {{token}}"}`:  `headers: {"Authorization": "Bearer {{token}}"}`,
		`json: {email: a@b, password: Secret-123}`:        `json: {email: a@b, password: …}`,
		`body: '{"apiKey":"k1","n":1}'`:                   `body: '{"apiKey":"…","n":1}'`,
		`  X-Api-Key: 'abc'  # note`:                      `  X-Api-Key: '…'  # note`,
		`command: PGPASSWORD=abc psql -c "select 1"`:      `command: PGPASSWORD=… psql -c "select 1"`,
		`command: mysql -u root -psecret shop`:            `command: mysql -u root -p… shop`,
		`get: /x?token=abc&n=1`:                           `get: /x?token=…&n=1`,
		`capture: {token: $.access_token}`:                `capture: {token: $.access_token}`,
		`  - {status: 200, means: accepted, order: $.id}`: `  - {status: 200, means: accepted, order: $.id}`,
		`201 {"id":1,"access_token":"abc"} → accepted`:    `201 {"id":1,"access_token":"…"} → accepted`,
	} {
		if got := shop.WithoutSecrets(text); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", text, got, want)
		}
	}
}
