package history_test

import (
	"bytes"
	"strings"
	"testing"

	"orderstock/loadtest/history"
)

func newHistoryText() []string {
	return []string{
		`{"format":3,"run":"r","path":"order","started":"2026-01-02T03:04:05Z","elapsed_us":3000,"warmup_us":0,` +
			`"window_us":3000,"timeout_us":1000000,"seed":7,"asked":2,` +
			`"acts":[{"cause":"kill at stock-1","from_us":1,"to_us":3}],"breakable":true,"step_limit_us":400,"limited":true,` +
			`"away":[{"address":"http://a:1","from_us":1,"to_us":2,"announced":true}],` +
			`"goods":[{"id":"11","stock":5,"price":100}],"orders":2,"calls":4}`,
		`{"line":2,"op":0,"kind":"place","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},` +
			`"intended_us":1,"sent_us":2,"done_us":3,"code":201,"status":"CONFIRMED","order":"99","total":200,` +
			`"as_sent":true}`,
		`{"line":3,"op":1,"kind":"place","key":"r-1","body":{"items":[{"goods_id":"11","num":1}]},` +
			`"intended_us":4,"sent_us":5,"done_us":6,"code":503,"problem":"unavailable"}`,
		`{"line":4,"op":0,"kind":"again","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},` +
			`"intended_us":7,"sent_us":8,"done_us":9,"code":201,"status":"CONFIRMED","order":"99","total":200,` +
			`"told_items":[{"goods_id":"11","num":2,"price":7}],"resent":true,"postponed":true,"replayed":true}`,
		`{"line":5,"op":0,"kind":"cancel","key":"r-0",` +
			`"intended_us":10,"sent_us":11,"done_us":12,"code":200,"status":"CANCELLED","order":"99","total":200,` +
			`"as_sent":true}`,
	}
}

func TestHistoryIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	text := strings.Join(newHistoryText(), "\n") + "\n"
	h, err := history.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := h.Write(&again); err != nil {
		t.Fatal(err)
	}
	if again.String() != text {
		t.Errorf("written\n%s\nread\n%s", &again, text)
	}
}
