package zklock

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// sequenced is a name as the server makes it from a prefix.
func sequenced(prefix string, seq int32) string { return fmt.Sprintf("%s%010d", prefix, seq) }

func TestNamesOfOtherClientsAreMembers(t *testing.T) {
	for _, name := range []string{
		"_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-lock-0000000012", // Curator, and this package
		"_c_3f2504e04f8941d39a0c0305e82c3301-lock-0000000012",     // go-zookeeper
		"_c_-lock-0000000012",
		"_c_lock-lock-0000000012",
		"lock-0000000012",
		"_c_3f25-\x00\xff-lock-\n-lock-0000000012",
	} {
		m, ok := parseName(name, lockKind)
		if !ok || m.number != 12 || m.name != name {
			t.Errorf("parseName(%q) = %v, %v", name, m, ok)
		}
	}
}

func TestForeignNamesAreNoMembers(t *testing.T) {
	for _, name := range []string{
		"", "_", "_c_", "_c", "c_", "lock-", "lock", "-", "leases", "locks", "0000000012",
		"lock-12", "lock-abcdefghij", "lock-00000000-12", "lock-+000000012", "lock-99999999999",
		"lock-0000000012x", "LOCK-0000000012", "_c_short-lock-", "lock-0000000012/child",
		"_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-__READ__0000000012",
	} {
		if m, ok := parseName(name, lockKind); ok {
			t.Errorf("parseName(%q) = %v", name, m)
		}
	}
}

// inOrder returns the members among names whose numbers give the order.
func inOrder(t *testing.T, names []string, kinds ...kind) []member {
	t.Helper()
	members, err := ordered(names, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	return members
}

// Fault N: the published lock splits the name at "-" and sorts by one of the fields. A GUID has
// dashes of its own, so that the field is a piece of it: wrong order, two holders.
func TestFaultNDashesInTheGUID(t *testing.T) {
	want := []string{
		sequenced("_c_ffffffff-ffff-4fff-bfff-ffffffffffff-lock-", 7),
		sequenced("_c_0-0-0-lock-", 8),
		sequenced("_c_00000000-0000-4000-8000-000000000000-lock-", 9),
		sequenced("_c_----lock-", 10),
		sequenced("lock-", 11),
	}
	for i := range want {
		rotated := append(slices.Clone(want[i:]), want[:i]...)
		members := inOrder(t, rotated, lockKind)
		for at, m := range members {
			if m.name != want[at] {
				t.Errorf("of %q, %q is at %d", rotated, m.name, at)
			}
		}
		if ahead := inTurn(members, 3); ahead != want[2] {
			t.Errorf("the fourth waits for %v, want %q", ahead, want[2])
		}
	}
}

// The case study's own names, of its locks, with dashes, GUIDs and marks of kinds before
// the number.
func TestFaultNNumberStandsAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		kind kind
		seq  int32
		ok   bool
	}{
		{"lock-0000000012", "lock-", 12, true},
		{"db-1.eu-west-W-0000000003", "-W-", 3, true},
		{"a-R-0000000001-W-0000000002", "-W-", 2, true},
		{"6c1b7e0a-1f9d-4a51-9d5e-0123456789ab-R-0000000007", "-R-", 7, true},
		{"goods_lock_2147483647", "goods_lock_", math.MaxInt32, true},
		{"goods_lock_-2147483648", "goods_lock_", math.MinInt32, true},
		{"more_goods_lock_0000000001", "goods_lock_", 1, true},
		{"lock--2147483648", "lock-", math.MinInt32, true},
		{"lock-9999999999", "", 0, false},
		{"lock-12", "", 0, false},
		{"0000000001", "", 0, false},
		{"", "", 0, false},
		{"lock-00000000x1", "", 0, false},
	} {
		m, ok := parseName(c.name, "goods_lock_", "-R-", "-W-", lockKind)
		if m.kind != c.kind || m.number != c.seq || ok != c.ok {
			t.Errorf("parseName(%q) = %+v, %v", c.name, m, ok)
		}
	}
}

func TestReadersWaitForTheLastWriterBefore(t *testing.T) {
	members := inOrder(t, []string{
		sequenced("_c_a-__READ__", 1),
		sequenced("_c_b-__READ__", 2),
		sequenced("_c_c-__WRIT__", 3),
		sequenced("_c_d-__READ__", 4),
		sequenced("_c_e-__READ__", 5),
		sequenced("_c_f-__WRIT__", 6),
		sequenced("_c_g-__READ__", 7),
	}, readKind, writeKind)
	for at, want := range []int{-1, -1, 1, 2, 2, 4, 5} { // the index of each one's predecessor
		got := -1
		if ahead := shared(members, at); ahead != "" {
			got = slices.IndexFunc(members, func(m member) bool { return m.name == ahead })
		}
		if got != want {
			t.Errorf("the one at %d waits for the one at %d, want %d", at, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-lock-0000000012", int32(12))
	f.Add("_c_", int32(math.MinInt32))
	f.Add("lock--2147483648", int32(math.MaxInt32))
	f.Add("_c_x-__READ____WRIT__lock-", int32(-1))
	f.Fuzz(func(t *testing.T, name string, seq int32) {
		kinds := []kind{lockKind, readKind, writeKind, leaseKind}
		if m, ok := parseName(name, kinds...); ok {
			if m.name != name || !strings.Contains(name, m.kind) {
				t.Errorf("parseName(%q) = %v", name, m)
			}
		}
		// The number is read whatever stands before the kind.
		for _, k := range kinds {
			own := sequenced(name+k, seq)
			if m, ok := parseName(own, k); !ok || m.number != seq || m.kind != k {
				t.Errorf("parseName(%q) = %v, %v, want %d", own, m, ok, seq)
			}
		}
	})
}
