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
		m, ok := parseMember(name, kindLock)
		if !ok || m.seq != 12 || m.name != name {
			t.Errorf("parseMember(%q) = %v, %v", name, m, ok)
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
		if m, ok := parseMember(name, kindLock); ok {
			t.Errorf("parseMember(%q) = %v", name, m)
		}
	}
}

// The counter wraps at 2^31, and the server writes negative numbers with their sign. As strings
// "lock-2147483647" < "lock--2147483648" is false, and as numbers it is, too.
func TestOrderAcrossTheWrap(t *testing.T) {
	seqs := []int32{math.MaxInt32 - 2, math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -1_000_000_000 - 1<<20}
	for _, around := range [][]int32{seqs, {-2, -1, 0, 1, 2}, {99_999, 100_000}, {999_999_999, 1_000_000_000}} {
		var want []string
		for i, seq := range around {
			// GUIDs that sort the other way round.
			want = append(want, sequenced(fmt.Sprintf("_c_%c-lock-", 'z'-i), seq))
		}
		shuffled := slices.Clone(want)
		slices.Reverse(shuffled)
		var got []string
		for _, m := range queue(append(shuffled, "foreign", "lock-"), kindLock) {
			got = append(got, m.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
	}
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
		members := queue(rotated, kindLock)
		for at, m := range members {
			if m.name != want[at] {
				t.Errorf("of %q, %q is at %d", rotated, m.name, at)
			}
		}
		if ahead := inTurn(members, 3); ahead == nil || ahead.name != want[2] {
			t.Errorf("the fourth waits for %v, want %q", ahead, want[2])
		}
	}
}

func TestReadersWaitForTheLastWriterBefore(t *testing.T) {
	members := queue([]string{
		sequenced("_c_a-__READ__", 1),
		sequenced("_c_b-__READ__", 2),
		sequenced("_c_c-__WRIT__", 3),
		sequenced("_c_d-__READ__", 4),
		sequenced("_c_e-__READ__", 5),
		sequenced("_c_f-__WRIT__", 6),
		sequenced("_c_g-__READ__", 7),
	}, readOrWrite...)
	for at, want := range []int{-1, -1, 1, 2, 2, 4, 5} { // whom each waits for
		rule := afterLastWriter
		if members[at].kind == kindWrite {
			rule = inTurn
		}
		got := -1
		if ahead := rule(members, at); ahead != nil {
			got = slices.IndexFunc(members, func(m member) bool { return m == *ahead })
		}
		if got != want {
			t.Errorf("the one at %d waits for the one at %d, want %d", at, got, want)
		}
	}
}

func FuzzParseMember(f *testing.F) {
	f.Add("_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-lock-0000000012", int32(12))
	f.Add("_c_", int32(math.MinInt32))
	f.Add("lock--2147483648", int32(math.MaxInt32))
	f.Add("_c_x-__READ____WRIT__lock-", int32(-1))
	f.Fuzz(func(t *testing.T, name string, seq int32) {
		kinds := []kind{kindLock, kindRead, kindWrite, kindLease}
		if m, ok := parseMember(name, kinds...); ok {
			if m.name != name || !strings.Contains(name, string(m.kind)) {
				t.Errorf("parseMember(%q) = %v", name, m)
			}
		}
		// Whatever stands before the kind, what the server has appended is read.
		for _, k := range kinds {
			own := sequenced(name+string(k), seq)
			if m, ok := parseMember(own, k); !ok || m.seq != seq || m.kind != k {
				t.Errorf("parseMember(%q) = %v, %v, want %d", own, m, ok, seq)
			}
		}
		// One of two is first, whichever way they are read.
		a, b := sequenced(name+"lock-", seq), sequenced("lock-", seq+1)
		forth, back := queue([]string{a, b}, kindLock), queue([]string{b, a}, kindLock)
		if !slices.Equal(forth, back) || forth[0].name != a {
			t.Errorf("order of %q and %q: %v, %v", a, b, forth, back)
		}
	})
}
