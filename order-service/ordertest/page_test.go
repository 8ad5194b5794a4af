package ordertest_test

import (
	"encoding/json"
	"testing"
)

func pageOf(t *testing.T, body string) (ids []string, next string) {
	t.Helper()
	var page struct {
		Orders []struct {
			ID    string
			Items []struct{ Num int64 }
		}
		Next string
	}
	must(t, json.Unmarshal([]byte(body), &page))
	for _, o := range page.Orders {
		if len(o.Items) == 0 {
			t.Errorf("order %s comes without its items", o.ID)
		}
		ids = append(ids, o.ID)
	}
	return ids, page.Next
}
