package console_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// file is the file of a language: English texts, and what they are in the language. Places for values are {1}, {2}.
type file struct {
	Page   map[string]string `json:"page"`   // written as t`…` in the page's scripts
	Server map[string]string `json:"server"` // sent by the server, shown with say
}

func chinese(t *testing.T) (all file) {
	t.Helper()
	if err := json.Unmarshal(read(t, "texts/zh.json"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// pageTexts returns all texts that the page's scripts write.
func pageTexts(t *testing.T) map[string]bool {
	t.Helper()
	written := regexp.MustCompile("(?:^|[^\\w$])t`([^`]*)`")
	counted := regexp.MustCompile(`\bmany\([^"\n]*?, "(\w+)"\)`)
	value := regexp.MustCompile(`\$\{[^}]*\}`)
	all := map[string]bool{}
	walk(t, "js", func(_ string, data []byte) {
		for _, m := range written.FindAllSubmatch(data, -1) {
			n := 0
			all[value.ReplaceAllStringFunc(string(m[1]), func(string) string {
				n++
				return "{" + strconv.Itoa(n) + "}"
			})] = true
		}
		for _, m := range counted.FindAllSubmatch(data, -1) {
			all["{1} "+string(m[1])+"s"] = true
		}
	})
	return all
}

// serverTexts returns the texts without values that the server sends.
func serverTexts() []string {
	var all []string
	remark := regexp.MustCompile(`//.*|[☠⏸].*|.* → .*`)
	for _, f := range tables.Published {
		all = append(all, f.Title, f.Says, f.Fix, f.Rate, f.Lesson(), f.Broken.Says, f.Fixed.Says)
		for line := range strings.Lines(f.Idea) {
			all = append(all, remark.FindString(strings.TrimSpace(line)))
		}
		for _, c := range slices.Concat(f.Changes(tables.Broken), f.Changes(tables.Fixed)) {
			all = append(all, c.Says)
		}
	}
	for _, s := range tables.Tour {
		all = append(all, s.Title, s.Says, s.Jargon)
	}
	for _, name := range verify.Invariants() {
		all = append(all, verify.Says(name))
	}
	for _, k := range trial.Kinds {
		all = append(all, k.Says)
	}
	for _, s := range deduct.Strategies {
		all = append(all, strings.TrimSuffix(s.Summary, "; only with `--allow-unsafe`"))
	}
	for _, s := range new(tables.Custom).Settings() {
		if s.Label != "" {
			all = append(all, s.Label, s.Says)
		}
	}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// names are English words that are the same in Chinese.
const names = "orderstock ZooKeeper Redis Redlock redsync MySQL token fencing lost update mutual exclusion " +
	"idempotency key ledger reconciler lock granularity context finally NodeExists GUID English PENDING REJECTED " +
	"CONFIRMED CANCELLED latch ms stock order make console id stage CANCELLING redis mysql zookeeper"

// latinWord matches a word of letters. A piece of a node's name, such as 8fb8, is none.
const latinWord = `\b[A-Za-z_]{2,}\b`

// TestPagesOfFaultsAreChinese, too: each fault has a page in that language, and no English word is left in it.
func TestPagesOfFaultsAreChinese(t *testing.T) {
	known := strings.Fields(names)
	word := regexp.MustCompile(latinWord)
	ofCode := regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<[^>]*>")
	for _, f := range tables.Published {
		page, err := faults.Pages.ReadFile(path.Base(texts.Chinese().File(f.PageFile())))
		if err != nil {
			t.Fatal(err)
		}
		if english := "\n[English](" + path.Base(f.PageFile()) + ")\n"; !strings.Contains(string(page), english) {
			t.Errorf("%s: the page does not link its English one", f.Letter)
		}
		code := false
		for line := range strings.Lines(string(page)) {
			text := ofCode.ReplaceAllString(line, "")
			if strings.HasPrefix(line, "```") {
				code = !code
				continue
			}
			if code {
				_, text, _ = strings.Cut(line, "//")
			}
			for _, found := range word.FindAllString(text, -1) {
				if !slices.Contains(known, found) {
					t.Errorf("%s: %q is not Chinese in %q", f.Letter, found, line)
				}
			}
		}
	}
}

var place = regexp.MustCompile(`\{\d\}`)

// TestNoTextIsMissingInChinese, and none is there that nobody writes. Each has the values of the English one.
func TestNoTextIsMissingInChinese(t *testing.T) {
	all, written := chinese(t), pageTexts(t)
	if len(written) < 100 {
		t.Fatalf("only %d texts are found in the page", len(written))
	}
	for text := range written {
		if all.Page[text] == "" {
			t.Errorf("the page writes %q, which has no Chinese text", text)
		}
	}
	for text := range all.Page {
		if !written[text] {
			t.Errorf("the page does not write %q", text)
		}
	}
	for _, text := range serverTexts() {
		if all.Server[text] == "" {
			t.Errorf("the server sends %q, which has no Chinese text", text)
		}
	}
	source := goSource(t)
	for text := range all.Server {
		for _, part := range place.Split(text, -1) {
			if part = strings.Trim(part, " ,:;().·"); !strings.Contains(source, strings.ToLower(part)) {
				t.Errorf("nothing that the server sends has the %q of %q", part, text)
			}
		}
	}
	for _, section := range []map[string]string{all.Page, all.Server} {
		for from, to := range section {
			want, got := place.FindAllString(from, -1), place.FindAllString(to, -1)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("%q has the values %v, %q has %v", from, want, to, got)
			}
		}
	}
}

// goSource returns the code that makes the server's texts, its tests and the recorded runs, which have texts that are
// made of several pieces: in lower case, with strings of several lines in one piece.
func goSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"..", "../../stock-service/deduct", "../../pkg/httpapi"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			ofTexts := slices.Contains([]string{".go", ".html"}, filepath.Ext(name)) ||
				filepath.Base(filepath.Dir(name)) == "faults"
			if err != nil || d.IsDir() || !ofTexts || strings.HasPrefix(d.Name(), "texts_") {
				return err
			}
			data, err := os.ReadFile(name)
			all.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	patches, err := system.Patches()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		all.WriteString(p.Title + "\n")
	}
	text := regexp.MustCompile(`" ?\+\n\s*"`).ReplaceAllString(all.String(), "")
	return strings.ToLower(strings.NewReplacer(`\"`, `"`, "%q", `"%s"`).Replace(text))
}
