package tables_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/tables/published"
	"orderstock/stock-service/deduct"
)

const root = "../.."

// TestEveryRegressionTestIsListed in its fault, and each listed one exists.
func TestEveryRegressionTestIsListed(t *testing.T) {
	listed := map[tables.Link]string{}
	for i, f := range tables.Published {
		if want := string(rune('A' + i)); f.Letter != want {
			t.Errorf("fault %d is %q, want %s", i, f.Letter, want)
		}
		if f.Title == "" || f.Says == "" || f.Idea == "" || f.Fix == "" || len(f.Tests) == 0 {
			t.Errorf("fault %s lacks words or tests", f.Letter)
		}
		for _, l := range f.Tests {
			listed[l] = f.Letter
		}
	}
	test := regexp.MustCompile(`(?m)^func (TestFault([A-Q])(?:[A-Z_]\w*)?)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range test.FindAllStringSubmatch(string(text), -1) {
			l := tables.Link{Name: m[1], File: strings.TrimPrefix(filepath.ToSlash(path), root+"/")}
			if listed[l] != m[2] {
				t.Errorf("%+v is listed under fault %q, want %s", l, listed[l], m[2])
			}
			delete(listed, l)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for l, letter := range listed {
		t.Errorf("fault %s lists %+v, which does not exist", letter, l)
	}
}

// TestSourcesOfFaultsExist: the patches, switches, strategies, cells and files that the faults name.
func TestSourcesOfFaultsExist(t *testing.T) {
	patches, err := system.Patches()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tables.Published {
		for _, v := range []tables.Variant{f.Broken, f.Fixed} { // the product has none
			for name := range strings.SplitSeq(v.Mutants, ",") {
				isPatch := slices.ContainsFunc(patches, func(p system.Patch) bool { return p.Name == name })
				if name != "" && !isPatch && len(published.FaultsOf(name)) == 0 {
					t.Errorf("fault %s: there is no mutant %q", f.Letter, name)
				}
			}
			if _, err := deduct.Find(v.Strategy); v.Strategy != "" && err != nil {
				t.Errorf("fault %s: %v", f.Letter, err)
			}
		}
		if _, ok := tables.FindCell(f.Strike); f.Strike != "" && !ok {
			t.Errorf("fault %s: there is no cell %q", f.Letter, f.Strike)
		}
		text, err := os.ReadFile(filepath.Join(root, f.Source.File))
		if err != nil {
			t.Errorf("fault %s: %v", f.Letter, err)
		}
		name, ok := strings.CutPrefix(f.Source.Name, "published.")
		if ok && !strings.Contains(string(text), "\t"+name+" Fault") {
			t.Errorf("fault %s: %s is not in %s", f.Letter, f.Source.Name, f.Source.File)
		}
	}
}

// TestTourPlaysNothingTwice: each stop plays a published fault, and no two play the same side of one.
func TestTourPlaysNothingTwice(t *testing.T) {
	type play struct {
		fault string
		side  tables.Side
	}
	at := map[play]int{}
	for i, s := range tables.Tour {
		if _, err := tables.Find(s.Fault); err != nil || s.Stop != i+1 {
			t.Errorf("stop %d of the tour is numbered %d: %v", i+1, s.Stop, err)
		}
		plays := play{s.Fault, s.Variant}
		if first, ok := at[plays]; ok {
			t.Errorf("stop %d plays %s, %s, as stop %d does", s.Stop, s.Fault, s.Variant, first)
		}
		at[plays] = s.Stop
	}
}
