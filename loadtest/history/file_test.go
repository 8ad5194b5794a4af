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
			`"goods":[{"id":"11","stock":5,"price":100}],"orders":2,"calls":4,"asides":1}`,
		`{"line":2,"kind":"place","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},"op":0,"status":"CONFIRMED",` +
			`"code":201,"intended_us":1,"sent_us":2,"done_us":3,"order":"99","total":200,"as_sent":true}`,
		`{"line":3,"kind":"place","key":"r-1","body":{"items":[{"goods_id":"11","num":1}]},"op":1,"code":503,` +
			`"problem":"unavailable","intended_us":4,"sent_us":5,"done_us":6}`,
		`{"line":4,"kind":"again","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},"op":0,"status":"CONFIRMED",` +
			`"replayed":true,"code":201,"intended_us":7,"sent_us":8,"done_us":9,"order":"99","total":200,"resent":true,` +
			`"postponed":true,"told_items":[{"goods_id":"11","num":2,"price":7}]}`,
		`{"line":5,"kind":"cancel","key":"r-0","op":0,"status":"CANCELLED","code":200,"intended_us":10,"sent_us":11,` +
			`"done_us":12,"order":"99","total":200,"as_sent":true}`,
		`{"line":6,"aside":"page","method":"GET","route":"/v1/orders","path":"/v1/orders","sent_us":13,"done_us":14,` +
			`"code":200,"next":"99","all":2,"listed":[{"order":"99","total":200,"op":0,"status":"CANCELLED"},` +
			`{"order":"98","total":9,"op":-1,"status":"REJECTED","told_items":[{"goods_id":"11","num":9,"price":1}],` +
			`"created_us":5,"reason":"any"}]}`,
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
