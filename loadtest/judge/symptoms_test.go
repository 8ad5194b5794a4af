package judge_test

import (
	"database/sql"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/pkg/servers/serverstest"
)

// The page of symptoms has files that can be read, invariants and phases that exist, links to its headings, and SQL
// for a server.
func TestThePageOfSymptoms(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("SYMPTOMS.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(kind string) (texts []string) {
		for i, part := range strings.Split(string(page), "```") {
			if of, text, _ := strings.Cut(part, "\n"); i%2 == 1 && of == kind {
				texts = append(texts, text)
			}
		}
		return texts
	}
	files := blocks("yaml")
	order := regexp.MustCompile(`(?s)order:\n.*?(answers:)`)
	for _, part := range files[1:] {
		whole := files[0]
		if strings.Contains(part, "order:") {
			whole = order.ReplaceAllString(whole, "$1")
		}
		if _, err := shop.Parse([]byte(whole+part), nil); err != nil {
			t.Errorf("%v in\n%s%s", err, whole, part)
		}
	}
	if _, err := shop.Parse([]byte(files[0]), nil); err != nil || len(files) != 4 {
		t.Errorf("%d files, the first: %v", len(files), err)
	}
	verdicts := strings.Join(blocks(""), "")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+)[:,] `).FindAllStringSubmatch(verdicts, -1) {
		if !slices.Contains(judge.Invariants(), m[1]) {
			t.Errorf("there is no invariant %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +VIOLATION`).FindAllStringSubmatch(verdicts, -1) {
		if !slices.Contains(judge.Phases(), m[1]) {
			t.Errorf("there is no phase %s", m[1])
		}
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(page), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(string(page), -1) {
		if !anchors[m[1]] {
			t.Errorf("there is no heading #%s", m[1])
		}
	}
	db, err := sql.Open("mysql", serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1) // for the transactions
	statements := append([]string{
		"CREATE TABLE products (id INT PRIMARY KEY, stock INT)", "INSERT INTO products VALUES (7, 20)",
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, product_id INT, quantity INT, state VARCHAR(20))",
		"CREATE TABLE items (order_id INT, product_id INT, quantity INT)",
		"CREATE TABLE seats (id VARCHAR(2), buyer INT)", "CREATE TABLE redemptions (coupon_id INT, customer_id INT)",
	}, strings.Split(regexp.MustCompile(`--.*`).ReplaceAllString(strings.Join(blocks("sql"), ""), ""), ";")...)
	for _, statement := range statements {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
