package verifytest_test

import (
	"bytes"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// exemption is a kind of change whose result is as correct as the original.
type exemption struct {
	// table and what match the fields of the change.
	table, what string
	// why the other value is as good.
	why string
	// is reports whether a change of that field is exempt. Nil: every change is.
	is func(*change) bool
}

var exemptions = []exemption{
	{"operations", "Token", "not every strategy locks; deductions without a good token are counted as unlocked", nil},
	{"products", "Token", "not every strategy locks; deductions without a good token are counted as unlocked", nil},
	{"flows", "Created", "the clocks of the services may be wrong by less than an hour", nearly},
	{"operations", "Reason", "of several products that are short, a rejection names any", anotherShort},
	{"calls", "Failure", "no answer came, and none of the ways not to get one contradicts the books", unanswered},
	{"calls", "Problem", "the call failed either way, and neither code contradicts the books", failed},
	{"calls", "Code", "the call failed either way, and neither code contradicts the books", failed},
	{
		"orders", "invented", "without a key and without items, it is no order of the run or of its products",
		func(c *change) bool { return c.after.(verify.OrderRow).Key == nil },
	},
	{
		"asides", "Failure", "no answer came, and none of the ways not to get one contradicts the books",
		func(c *change) bool { return c.before.(history.Aside).Code == 0 && c.after.(history.Aside).Code == 0 },
	},
	{
		"calls", "Replayed", "the first answer may be a repeat: the stock service reads the result of a lost commit",
		deduction,
	},
	{"calls", "Replayed", "the answer may repeat a lost one", lostBefore},
	{
		"asides", "Path", "the call is refused all the same, for one reason or for the other",
		func(c *change) bool { return c.before.(history.Aside).Code >= http.StatusBadRequest },
	},
	{"asides", "Media", "the call is refused before its media type is read", refusedBefore},
	{"asides", "Path", "no product of the run lies between the cursors", sameCursor},
	{"asides", "Media", "no answer came, and the books do not have the restock, or of an equal call", lostAside},
	{"asides", "Token", "no answer came, and the books do not have the restock, or of an equal call", lostAside},
	{"asides", "Token", "the call needs no token", func(c *change) bool {
		return strings.HasPrefix(c.before.(history.Aside).Route, "/v1/orders")
	}},
	{"asides", "Code", "an empty list shows nothing, and the call may have failed beside a disturbance", emptyList},
	{"asides", "Next", "no earlier answer shows an order of that status beyond the page", noneBeyond},
	{"asides", "listed deleted", "no earlier answer says that the order has the status of the page for good", notKnown},
	{"calls", "Replayed", "something between may have sent the call again", sentAgain},
	{"calls", "Replayed", "the lost call that the answer repeated may not have arrived", lostFirst},
	{"calls", "Status", "the cancellation was under way: the deduction may have been read before it or after", underWay},
}

// nearly reports whether the date of a flow row lies in the run, or nearly, or is missing as in older evidence.
func nearly(c *change) bool {
	row, ok := c.after.(verify.FlowRow)
	return ok && (row.Created == 0 || row.Created >= c.of.history.Started.Add(-50*time.Minute).UnixMicro() &&
		row.Created <= c.of.books.At.Add(50*time.Minute).UnixMicro())
}

// lostAside reports whether a call that may write was not answered, and the books have no restock under its flag, or
// that of an equal call.
func lostAside(c *change) bool {
	a := c.before.(history.Aside)
	equal := 0 // with a itself
	for _, other := range c.of.history.Asides {
		if other.Path == a.Path && other.Body == a.Body && other.Token == a.Token && other.Media == a.Media &&
			other.Code < http.StatusBadRequest && other.Failure != history.Refused {
			equal++
		}
	}
	return a.Code == 0 && (equal > 1 || !slices.ContainsFunc(c.of.books.Restocks, func(r verify.RestockRow) bool {
		return strings.Contains(a.Body, `"`+string(r.Flag)+`"`)
	}))
}

// refusedBefore reports whether a call is refused for now, or for its token, a parameter or its key.
func refusedBefore(c *change) bool {
	a := c.before.(history.Aside)
	kind, _, _ := strings.Cut(a.Row, ":")
	return !a.Ended() || a.Code >= http.StatusBadRequest && slices.Contains([]string{"token", "parameter", "key"}, kind)
}

// sameCursor reports whether a list of products begins before the run's products, as it did.
func sameCursor(c *change) bool {
	before, after := c.before.(history.Aside), c.after.(history.Aside)
	return before.Route == "/v1/stock" && slices.Max([]int64{cursor(before.Path), cursor(after.Path)}) <
		c.of.history.Goods[0].ID
}

// cursor returns the parameter after of a path, or the highest number.
func cursor(path string) int64 {
	_, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query) // as the run has sent it
	n, err := strconv.ParseInt(values.Get("after"), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// exempt returns why a change need not be found, or "".
func (c *change) exempt() string {
	for _, e := range exemptions {
		if e.table == c.table && e.what == c.what && (e.is == nil || e.is(c)) {
			return e.why
		}
	}
	return ""
}

func anotherShort(c *change) bool {
	op, ok := c.after.(verify.OperationRow)
	goods, short := bytes.CutPrefix(op.Reason, []byte("insufficient_stock: goods "))
	return ok && short && bytes.Contains(append([]byte(","), op.Items...), append(append([]byte(","), goods...), ':'))
}

// calls returns the call before and after the change.
func (c *change) calls() (before, after history.Call) {
	return c.before.(history.Call), c.after.(history.Call)
}

func unanswered(c *change) bool {
	before, after := c.calls()
	return before.Code == 0 && after.Code == 0
}

func failed(c *change) bool {
	before, after := c.calls()
	return before.Status == history.NoStatus && after.Status == history.NoStatus
}

// deduction reports whether, on PathDeduct, an answer marked as the first is now marked as a repeat.
func deduction(c *change) bool {
	_, after := c.calls()
	return c.of.history.Path == history.PathDeduct && after.Replayed
}

// lostBefore reports whether an answer is now marked as a repeat, of an unanswered call that may have placed the order.
func lostBefore(c *change) bool {
	_, after := c.calls()
	return after.Replayed && c.another(func(other *history.Call) bool {
		return other.Kind.Places() && other.Status == history.NoStatus && other.Sent < after.Done &&
			!other.Problem.NothingChanged() && other.Failure != history.Refused && other.Code != http.StatusTooManyRequests
	})
}

// sentAgain reports whether an answer is now marked as a repeat of a call that may have been sent again.
func sentAgain(c *change) bool {
	_, after := c.calls()
	return after.Replayed && (after.Resent || c.of.history.Disturbed ||
		slices.ContainsFunc(c.of.history.Acts, func(a history.Act) bool {
			return a.From <= after.Done && after.Sent <= a.To+2*time.Second // a breaker's rest
		}))
}

// lostFirst reports whether an answer is no longer marked as a repeat, and no answer of before shows that it was one.
func lostFirst(c *change) bool {
	_, after := c.calls()
	return !after.Replayed && !c.another(func(other *history.Call) bool {
		return (other.Kind == after.Kind || other.Kind.Places() && after.Kind.Places()) &&
			other.Status != history.NoStatus && (!other.Replayed || other.Done < after.Sent)
	})
}

// underWay reports whether the answer about a cancelled deduction now gives its state before or after, in a call that
// overlaps a cancellation.
func underWay(c *change) bool {
	before, after := c.calls()
	pair := []history.Status{before.Status, after.Status}
	return slices.Contains(pair, history.Done) && slices.Contains(pair, history.Restored) &&
		c.another(func(other *history.Call) bool {
			return other.Kind == history.Cancel && other.Sent < after.Done && after.Sent < other.Done
		})
}

// emptyList reports whether the answer to a call was a list of no orders, and is now a failure.
func emptyList(c *change) bool {
	before, after := c.before.(history.Aside), c.after.(history.Aside)
	return before.Route == "/v1/orders" && before.Answer == "" && len(before.Listed) == 0 &&
		after.Code >= http.StatusInternalServerError
}

// noneBeyond reports whether a page of one status now says that it is the last, and no order beyond it is known to have
// that status.
func noneBeyond(c *change) bool {
	page := c.after.(history.Aside)
	last := cursor(page.Path)
	if n := len(page.Listed); n > 0 {
		last = page.Listed[n-1].Order
	}
	return page.Next == 0 && strings.Contains(page.Path, "status=") &&
		!slices.ContainsFunc(c.of.history.Calls, func(call history.Call) bool {
			return call.Order > last && strings.Contains(page.Path, "status="+call.Status.String()) &&
				c.keeps(call.Op, call.Status, page)
		})
}

// notKnown reports whether an order stood on a page of one status alone, before any answer showed that it has it and
// keeps it.
func notKnown(c *change) bool {
	l, page := c.before.(history.Listed), c.after.(history.Aside)
	return strings.Contains(page.Path, "status=") && !c.keeps(l.Op, l.Status, page)
}

// keeps reports whether an answer showed, before a page was asked for, that an order had a status, and the order kept
// it until the page was answered.
func (c *change) keeps(op int32, status history.Status, page history.Aside) (known bool) {
	for _, call := range c.of.history.Calls {
		if call.Op != op || call.Kind == history.ReadLedger {
			continue
		}
		if status == history.Confirmed && call.Kind == history.Cancel && call.Sent < page.Done {
			return false
		}
		known = known || call.Status == status && call.Done < page.Sent
	}
	return known && slices.Contains([]history.Status{history.Confirmed, history.Rejected, history.Cancelled}, status)
}

// another reports whether is holds for another call of the same order.
func (c *change) another(is func(*history.Call) bool) bool {
	_, after := c.calls()
	for i := range c.of.history.Calls {
		other := &c.of.history.Calls[i]
		if other.Op == after.Op && (other.Sent != after.Sent || other.Kind != after.Kind) && is(other) {
			return true
		}
	}
	return false
}

// The first call's answer was lost, and the repeat's may be the first: a read of the order shows nothing else.
func TestAReadIsNoFirstAnswer(t *testing.T) {
	t.Parallel()
	h := &history.History{Path: history.PathOrder, Calls: []history.Call{
		{Kind: history.Place, Failure: history.Broken, Done: 1},
		{Kind: history.Again, Code: 201, Status: history.Confirmed, Replayed: true, Sent: 2, Done: 3},
		{Kind: history.ReadOrder, Code: 200, Status: history.Confirmed, Sent: 4, Done: 5},
	}}
	after := h.Calls[1]
	after.Replayed = false
	c := &change{of: &goodRun{history: h}, table: "calls", what: "Replayed", before: h.Calls[1], after: after}
	if c.exempt() == "" {
		t.Error("an answer that may be the first must be marked as a repeat")
	}
}

// A page of one status says that it is the last, though an order of that status follows.
func TestAPageThatLeavesAnOrderOut(t *testing.T) {
	t.Parallel()
	h := &history.History{Calls: []history.Call{{Code: 409, Status: history.Rejected, Order: 9, Done: 1}}}
	for after, may := range map[string]bool{"8": false, "9": true} {
		page := history.Aside{Path: "/v1/orders?status=REJECTED&after=" + after, Sent: 2, Done: 3}
		c := &change{of: &goodRun{history: h}, table: "asides", what: "Next", before: page, after: page}
		if (c.exempt() != "") != may {
			t.Errorf("the page after order %s may be the last: %t, want %t", after, !may, may)
		}
	}
}

// Of two equal restocks without an answer either may have written the row; one alone has.
func TestEqualRestocksWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	lost := history.Aside{Path: "/v1/stock/1/restock", Body: `{"flag":"more","num":1}`, Failure: history.Broken}
	refused, without := lost, lost
	refused.Failure, without.Token = history.Refused, "none"
	for _, test := range []struct {
		asides []history.Aside
		exempt bool
	}{
		{[]history.Aside{lost, lost}, true},
		{[]history.Aside{lost, refused}, false},
		{[]history.Aside{lost, without}, false},
		{[]history.Aside{lost}, false},
	} {
		run := &goodRun{
			history: &history.History{Asides: test.asides},
			books:   &verify.Tables{Restocks: []verify.RestockRow{{Flag: verify.Text("more")}}},
		}
		c := &change{of: run, table: "asides", what: "Token", before: lost, after: without}
		if (c.exempt() != "") != test.exempt {
			t.Errorf("%d calls, the last %+v: exempt %t", len(test.asides), test.asides[len(test.asides)-1], !test.exempt)
		}
	}
}

// An exemption whose row has lost the field says something that is no longer so.
func TestExemptionsNameFields(t *testing.T) {
	t.Parallel()
	rows := map[string]any{
		"orders": verify.OrderRow{}, "operations": verify.OperationRow{}, "products": verify.ProductRow{},
		"calls": history.Call{}, "asides": history.Aside{}, "flows": verify.FlowRow{},
	}
	for _, e := range exemptions {
		if _, ok := reflect.TypeOf(rows[e.table]).FieldByName(e.what); !ok && e.what != "invented" &&
			e.what != "listed deleted" {
			t.Errorf("a row of %s has no field %s", e.table, e.what)
		}
	}
}
