package mysqldb

import (
	"errors"
	"testing"
)

// said is a row of a member's list of members.
type said struct{ id, state, role string }

func answered(self string, readOnly bool, rows ...said) answer {
	var a answer
	for _, r := range rows {
		a.add(listed{id: r.id, self: r.id == self, state: r.state, role: r.role, readOnly: readOnly})
	}
	return a
}

func TestElect(t *testing.T) {
	t.Parallel()
	const online, lost, joining, primary, secondary = "ONLINE", "UNREACHABLE", "RECOVERING", "PRIMARY", "SECONDARY"
	silent := answer{err: errors.New("timeout")}
	of := func(self string, readOnly bool, leader string) answer {
		role := map[bool]string{true: primary, false: secondary}
		return answered(self, readOnly, said{"a", online, role[leader == "a"]}, said{"b", online, role[leader == "b"]},
			said{"c", online, role[leader == "c"]})
	}
	for name, c := range map[string]struct {
		answers []answer
		want    int
	}{
		"all agree":                         {[]answer{of("a", true, "b"), of("b", false, "b"), of("c", true, "b")}, 1},
		"nobody answers":                    {[]answer{silent, silent, silent}, -1},
		"it answers alone":                  {[]answer{of("a", false, "a"), silent, silent}, 0},
		"it is not writable yet":            {[]answer{of("a", true, "a"), of("b", true, "a"), silent}, -1},
		"no list, as on a server by itself": {[]answer{{}, {}, {}}, -1},
		"one that thaws, against the ones that continued": {
			[]answer{of("a", false, "a"), of("b", false, "b"), of("c", true, "b")}, 1,
		},
		"one that thaws, against one": {[]answer{of("a", false, "a"), of("b", false, "b"), silent}, -1},
		"cut off with the minority": {[]answer{
			answered("a", false, said{"a", online, primary}, said{"b", lost, secondary}, said{"c", lost, secondary}),
			silent, silent,
		}, -1},
		"one lost of three": {[]answer{
			answered("a", false, said{"a", online, primary}, said{"b", online, secondary}, said{"c", lost, secondary}),
			silent, silent,
		}, 0},
		"half is no majority": {[]answer{
			answered("a", false, said{"a", online, primary}, said{"b", lost, secondary}), silent, silent,
		}, -1},
		"the others join again": {[]answer{
			answered("a", false, said{"a", online, primary}, said{"b", joining, secondary}, said{"c", joining, secondary}),
			silent, silent,
		}, 0},
		"two groups, of two and of one": {[]answer{
			answered("a", false, said{"a", online, primary}, said{"b", online, secondary}),
			answered("b", true, said{"a", online, primary}, said{"b", online, secondary}),
			answered("c", false, said{"c", online, primary}),
		}, -1},
		"it left the group": {[]answer{answered("a", false, said{"a", "ERROR", ""}), silent, silent}, -1},
		"a secondary without a primary in its list": {[]answer{
			silent, answered("b", true, said{"b", online, secondary}, said{"c", online, secondary}), silent,
		}, -1},
	} {
		if got := elect(c.answers); got != c.want {
			t.Errorf("%s: elected %d, want %d", name, got, c.want)
		}
	}
}

// The description of a member, when there is no primary, must show an operator where to look.
func TestDescriptionOfAMember(t *testing.T) {
	t.Parallel()
	two := func(readOnly bool, role, other string) answer {
		return answered("a", readOnly,
			said{"a", "ONLINE", role}, said{"b", other, "SECONDARY"}, said{"c", other, "SECONDARY"})
	}
	for want, a := range map[string]answer{
		"does not answer (timeout)":           {err: errors.New("timeout")},
		"is RECOVERING":                       answered("a", true, said{"a", "RECOVERING", "SECONDARY"}),
		"reaches 1 of 3 members":              two(false, "PRIMARY", "UNREACHABLE"),
		"is the primary and not writable yet": two(true, "PRIMARY", "ONLINE"),
		"is the primary":                      two(false, "PRIMARY", "ONLINE"),
		"is a secondary":                      two(true, "SECONDARY", "ONLINE"),
	} {
		if got := a.String(); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
}
