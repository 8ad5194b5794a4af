package history_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/history"
)

// A history that is cut at any byte, or whose lines are in another order or doubled, is unusable, and the error names
// the line.
func TestAHistoryThatIsNotWholeIsUnusable(t *testing.T) {
	t.Parallel()
	lines := newHistoryText()
	text := strings.Join(lines, "\n") + "\n"
	if _, err := history.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	unusable := func(what, text string) {
		t.Helper()
		if _, err := history.Read(strings.NewReader(text)); !errors.Is(err, history.ErrHistory) ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want ErrHistory with the line", what, err)
		}
	}
	for i := range len(text) {
		unusable("cut", text[:i])
	}
	for i := range lines {
		unusable("a line missing", strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n")+"\n")
		for k := range lines {
			unusable("doubled", strings.Join(slices.Insert(slices.Clone(lines), k, lines[i]), "\n")+"\n")
			if i != k {
				moved := slices.Clone(lines)
				moved[i], moved[k] = moved[k], moved[i]
				unusable("moved", strings.Join(moved, "\n")+"\n")
			}
		}
	}
	unusable("twice", text+text)
	for what, change := range map[string][2]string{
		"a body that differs": {
			`"kind":"again","key":"r-0","body":{"items":[{"goods_id":"11","num":2`,
			`"kind":"again","key":"r-0","body":{"items":[{"goods_id":"11","num":3`,
		},
		"a line cut":             {`"code":503,"problem":"unavailable"`, `"code":503,"prob`},
		"an unknown kind":        {`"kind":"again"`, `"kind":"anew"`},
		"no order of that":       {`"op":1`, `"op":7`},
		"another key":            {`"key":"r-1"`, `"key":"r-01"`},
		"a foreign product":      {`"goods_id":"11","num":1`, `"goods_id":"12","num":1`},
		"a name twice":           {`"code":503`, `"code":201,"code":503`},
		"a name in capitals":     {`"code":503`, `"Code":503`},
		"an unknown name":        {`"code":503`, `"coda":503`},
		"orders without end":     {`"orders":2`, `"orders":4000000000`},
		"an order far ahead":     {`"op":1`, `"op":49999999`},
		"a product without name": {`"id":"11","stock":5`, `"id":"0","stock":5`},
		"away the wrong way":     {`"to_us":2`, `"to_us":0`},
		"an older file":          {`"format":3`, `"format":2`},
		"items, and as sent":     {`"replayed":true`, `"as_sent":true,"replayed":true`},
		"an unknown failure":     {`"code":503`, `"error":"lost","code":503`},
		"an unknown location":    {`"code":503`, `"location":"there","code":503`},
		"no kind":                {`"kind":"place",`, ``},
		"done before it is sent": {`"sent_us":5,"done_us":6`, `"sent_us":5,"done_us":4`},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Errorf("%s: nothing is changed", what)
		}
		unusable(what, changed)
	}
}

// FuzzRead: for any file, Read returns a history that is written as it was read, or an error that names the line.
func FuzzRead(f *testing.F) {
	text := strings.Join(newHistoryText(), "\n") + "\n"
	f.Add([]byte(text))
	f.Add([]byte(strings.ReplaceAll(text, "r-", "direct-r-")))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := history.Read(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, history.ErrHistory) || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%v, want ErrHistory with the line", err)
			}
			return
		}
		var first, second bytes.Buffer
		if err := h.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := history.Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("the written file cannot be read: %v\n%s", err, &first)
		}
		if err := again.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written\n%s\nand then (%v)\n%s", &first, err, &second)
		}
	})
}
