package herd

import "testing"

// TestFaultN: the number stands at the end, whatever dashes, GUIDs and markers stand before it.
func TestFaultN(t *testing.T) {
	for _, c := range []struct {
		name, prefix string
		seq          int32
		ok           bool
	}{
		{"lock-0000000012", "lock-", 12, true},
		{"db-1.eu-west-W-0000000003", "db-1.eu-west-W-", 3, true},
		{"a-R-0000000001-W-0000000002", "a-R-0000000001-W-", 2, true},
		{"6c1b7e0a-1f9d-4a51-9d5e-0123456789ab-R-0000000007", "6c1b7e0a-1f9d-4a51-9d5e-0123456789ab-R-", 7, true},
		{"goods_lock_2147483647", "goods_lock_", 2147483647, true},
		{"goods_lock_-2147483648", "goods_lock_", -2147483648, true},
		{"lock--2147483648", "lock-", -2147483648, true},
		{"lock-9999999999", "", 0, false},
		{"lock-12", "", 0, false},
		{"0000000001", "", 1, true},
		{"", "", 0, false},
		{"lock-00000000x1", "", 0, false},
	} {
		prefix, seq, ok := split(c.name)
		if prefix != c.prefix || seq != c.seq || ok != c.ok {
			t.Errorf("split(%q) = %q, %d, %v", c.name, prefix, seq, ok)
		}
	}
}
