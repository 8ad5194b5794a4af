package judge

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orderstock/loadtest/verify"
)

// The elements of a report of JUnit, as CI systems read it.
type (
	junitReport struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Seconds  float64     `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// SaveJUnit writes the result as a report of JUnit: a suite for each phase, with a test for each invariant. An
// unknown verdict is an error.
func (r *Result) SaveJUnit(file string) error {
	report := junitReport{Name: r.File}
	if len(r.Reasons) > 0 {
		report.add(r.File, "run", 0, []junitCase{{Name: "verdict", Error: junitReasons(r.Reasons)}})
	}
	for i := range r.Phases {
		p := &r.Phases[i]
		report.add(r.File, p.Name, p.Took, p.cases())
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o600))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func (r *junitReport) add(file, name string, ms int64, cases []junitCase) {
	s := junitSuite{Name: name, Tests: len(cases), Seconds: float64(ms) / 1000, Cases: cases}
	for i := range cases {
		cases[i].Class = file + "." + name
		switch {
		case cases[i].Failure != nil:
			s.Failures++
		case cases[i].Error != nil:
			s.Errors++
		case cases[i].Skipped != nil:
			s.Skipped++
		}
	}
	r.Suites = append(r.Suites, s)
}

// cases returns a test for each invariant, and one for the verdict of a phase that was not run or is unknown.
func (p *Phase) cases() (cases []junitCase) {
	if p.Skipped != "" {
		return []junitCase{{Name: "verdict", Skipped: &junitText{Message: p.Skipped}}}
	}
	if p.Outcome == verify.Unknown || len(p.Reasons) > 0 {
		cases = append(cases, junitCase{Name: "verdict", Error: junitReasons(p.Reasons)})
	}
	failed := map[string]*junitText{}
	for _, v := range p.Violations {
		failed[v.Invariant] = &junitText{
			Message: fmt.Sprintf("%d times, such as: %s", v.Count, v.Examples[0].Text),
			Text:    strings.Join(v.Examples[0].lines(), "\n"),
		}
	}
	for _, name := range p.Checked {
		cases = append(cases, junitCase{Name: name, Failure: failed[name]})
	}
	for _, u := range p.Unchecked {
		cases = append(cases, junitCase{Name: u.Invariant, Skipped: &junitText{Message: u.Why}})
	}
	return cases
}

func junitReasons(reasons []string) *junitText {
	return &junitText{Message: "unknown: " + strings.Join(reasons, "; ")}
}
