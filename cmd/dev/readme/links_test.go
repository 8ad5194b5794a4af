package readme_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// files calls do for each file of the module that ends so, but for what is made.
func files(t *testing.T, end string, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "out", "bin", ".run"}, d.Name()):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, end):
			do(path, read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := 0
	files(t, ".md", func(path, text string) {
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link to %s: %v", path, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: link to %s: no such heading", path, m[1])
			}
		}
	})
	if links < 20 {
		t.Errorf("found %d links", links)
	}
}

// A document names code of this module as package.Name: the package has that name.
func TestCodeThatDocumentsNameIsThere(t *testing.T) {
	t.Parallel()
	clause, comment := regexp.MustCompile(`(?m)^package (\w+)`), regexp.MustCompile(`//.*`)
	code := map[string]string{}
	files(t, ".go", func(_, text string) {
		if m := clause.FindStringSubmatch(text); m != nil {
			code[m[1]] += comment.ReplaceAllString(text, "")
		}
	})
	named, names := regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w+)[^`]*`"), 0
	files(t, ".md", func(path, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if of, ours := code[m[1]]; ours {
				if names++; !regexp.MustCompile(`\b` + m[2] + `\b`).MatchString(of) {
					t.Errorf("%s: package %s has no %s", path, m[1], m[2])
				}
			}
		}
	})
	if names < 5 {
		t.Errorf("the documents name %d", names)
	}
}

// anchors returns the anchors of a document's headings.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// The first page can be read in one go. Longer texts belong in the README of a folder.
func TestFirstPageIsShort(t *testing.T) {
	t.Parallel()
	if n := len(read(t, filepath.Join("..", "..", "..", "README.md"))); n > 9000 {
		t.Errorf("README.md has %d bytes, want at most 9000", n)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The ladder's figures are in its tables, which are made from the measured file, and are copied into no sentence: two
// documents had two figures for one thing.
func TestFiguresOfTheLadderAreNotCopied(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	copied := regexp.MustCompile("`direct`[^.|\n]*[0-9]|[0-9][0-9.]* of the limit|it costs [0-9]+ to [0-9]+ %")
	tables := regexp.MustCompile(`(?s)<!-- (\S+):begin -->.*?<!-- \S+:end -->`)
	for _, file := range []string{
		"README.md", "loadtest/README.md", "loadtest/DECISIONS.md", "loadtest/RESULTS.md", "stock-service/README.md",
		"stock-service/DECISIONS.md",
	} {
		text := tables.ReplaceAllString(read(t, filepath.Join(root, file)), "")
		for _, found := range copied.FindAllString(strings.ReplaceAll(text, "\n", " "), -1) {
			t.Errorf("%s: %s: name the table instead, loadtest/RESULTS.md#the-ladder", file, found)
		}
	}
}
