package readme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"orderstock/loadtest/verify"
)

func invariants(sources) (string, error) {
	text := "| invariant | what holds |\n| --- | --- |\n"
	for _, name := range verify.Invariants() {
		text += fmt.Sprintf("| `%s` | %s |\n", name, verify.Says(name))
	}
	return text, nil
}

// faultsOfTheCaseStudy lists what the published versions of the case study get wrong, by letter.
var faultsOfTheCaseStudy = []struct{ letter, fault string }{
	{"A", "the lock is released before the commit"},
	{"B", "an error is caught inside the transaction: half an order stays deducted"},
	{"C", "the flag is taken, then the process dies: every retry is told \"repeat\""},
	{"D", "a repeat is not told the first attempt's outcome"},
	{"E", "the order fails by timeout, and the deduction lands later"},
	{"F", "the order has no state, and nothing settles it after a crash"},
	{"G", "a new ZooKeeper session for each lock"},
	{"H", "one lock for all products"},
	{"I", "`exists`, then `create`, for the parent node: two first-comers race"},
	{"J", "the latch is made after the check: the waiter sleeps for ever"},
	{"K", "the watched predecessor vanishes, and the waiter takes the lock without another look"},
	{"L", "a waiter that times out leaves its node behind"},
	{"M", "release deletes the first child, not its own"},
	{"N", "children are sorted by a field of the name split at `-`, which a GUID holds"},
	{"O", "nothing tells the holder that its session expired"},
	{"P", "the request thread sleeps through the confirmation"},
	{"Q", "price and quantity are the client's word"},
}

var (
	faultTest = regexp.MustCompile(`(?m)^func (TestFault([A-Q])(?:[A-Z_]\w*)?)\(`)
	// faultSwitch is a fault that the published lock can be built with.
	faultSwitch = regexp.MustCompile(`(?m)^\t// (\w+) \(([A-Q])\): `)
	faultPatch  = regexp.MustCompile(`(?m)^Published-Fault: ([A-Q])$`)
)

// publishedLock is the case study's lock, with a switch for each of its faults.
const publishedLock = "loadtest/mutants/published/lock.go"

// caseStudy is the strategy that has fault G, so that nothing else need bring it back.
const caseStudy = "stock-service/deduct/compared/case_study.go"

// caseStudyFaults finds the regression tests by their names, TestFaultA…, and the patches and the switches of
// publishedLock that bring a fault back by the letter in them.
func caseStudyFaults(from sources) (string, error) {
	tests, patches := map[string][]string{}, map[string][]string{}
	err := eachFile(from.root, "_test.go", func(path, text string) {
		for _, m := range faultTest.FindAllStringSubmatch(text, -1) {
			tests[m[2]] = append(tests[m[2]], link(m[1], path))
		}
	})
	if err != nil {
		return "", err
	}
	err = eachFile(from.root, ".patch", func(path, text string) {
		if m := faultPatch.FindStringSubmatch(text); m != nil {
			patches[m[1]] = append(patches[m[1]], link(strings.TrimSuffix(filepath.Base(path), ".patch"), path))
		}
	})
	if err != nil {
		return "", err
	}
	switches, err := os.ReadFile(filepath.Join(from.root, publishedLock))
	if err != nil {
		return "", err
	}
	for _, m := range faultSwitch.FindAllStringSubmatch(string(switches), -1) {
		patches[m[2]] = append(patches[m[2]], link("published."+m[1], publishedLock))
	}
	patches["G"] = append(patches["G"], link("STOCK_STRATEGY=case-study", caseStudy))
	text := "| | fault | test | what brings it back |\n| --- | --- | --- | --- |\n"
	for _, f := range faultsOfTheCaseStudy {
		if len(tests[f.letter]) == 0 {
			return "", fmt.Errorf("fault %s has no test TestFault%s…", f.letter, f.letter)
		}
		slices.Sort(tests[f.letter])
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", f.letter, f.fault,
			strings.Join(tests[f.letter], "<br>"), strings.Join(patches[f.letter], "<br>"))
	}
	return text, nil
}

// link returns a link to a file of the module for the table in loadtestDoc.
func link(name, path string) string {
	return fmt.Sprintf("[`%s`](../%s)", name, filepath.ToSlash(path))
}

// eachFile calls fn with every file of the project whose name ends in suffix. Paths are relative to root.
func eachFile(root, suffix string, fn func(path, text string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "out" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(d.Name(), suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		fn(relative, string(text))
		return nil
	})
}
