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

// symptomBlocks returns the page of symptoms, and its blocks of code of a kind.
func symptomBlocks(t *testing.T, kind string) (page string, texts []string) {
	t.Helper()
	text, err := os.ReadFile("SYMPTOMS.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if of, text, _ := strings.Cut(part, "\n"); i%2 == 1 && of == kind {
			texts = append(texts, text)
		}
	}
	return string(text), texts
}

// symptomFiles returns the files of the page of symptoms: the first one, and with each later part in the place of its
// part of the same name.
func symptomFiles(t *testing.T) []string {
	t.Helper()
	_, files := symptomBlocks(t, "yaml")
	if len(files) != 4 {
		t.Fatalf("%d files", len(files))
	}
	part := regexp.MustCompile(`(?m)^(\w+):.*\n(?:[ #].*\n)*`)
	for i, change := range files[1:] {
		whole := files[0]
		for _, m := range part.FindAllStringSubmatch(change, -1) {
			old := regexp.MustCompile(`(?m)^` + m[1] + `:.*\n(?:[ #].*\n)*`)
			if !old.MatchString(whole) {
				whole += m[0]
				continue
			}
			whole = old.ReplaceAllLiteralString(whole, m[0])
		}
		files[i+1] = whole
	}
	return files
}

// The page of symptoms has files that can be read, invariants and phases that exist, links to its headings, and SQL
// for a server.
func TestThePageOfSymptoms(t *testing.T) {
	t.Parallel()
	page, verdictBlocks := symptomBlocks(t, "")
	_, statementBlocks := symptomBlocks(t, "sql")
	for _, file := range symptomFiles(t) {
		if _, err := shop.Parse([]byte(file), nil); err != nil {
			t.Errorf("%v in\n%s", err, file)
		}
	}
	verdicts := strings.Join(verdictBlocks, "")
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
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(page, -1) {
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
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, product_id INT, quantity INT, status VARCHAR(20))",
		"CREATE TABLE items (order_id INT, product_id INT, quantity INT)",
		"CREATE TABLE seats (id VARCHAR(2), buyer INT)", "CREATE TABLE redemptions (coupon_id INT, customer_id INT)",
	}, strings.Split(regexp.MustCompile(`--.*`).ReplaceAllString(strings.Join(statementBlocks, ""), ""), ";")...)
	for _, statement := range statements {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
