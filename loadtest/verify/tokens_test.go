package verify_test

import (
	"slices"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// sale is one deduction of one piece, from sent to answered, under a token.
type sale struct {
	sent, answered time.Duration
	token          zklock.Token
}

// sold returns the books and the history of the sales of one product.
func sold(row zklock.Token, sales ...sale) (*verify.Tables, *history.History) {
	bytes := func(t zklock.Token) []byte {
		b := t.Bytes()
		return b[:]
	}
	h := &history.History{Run: run, Path: history.PathDeduct, Goods: []history.Goods{{ID: 1, Stock: 50, Price: 100}}}
	price := int64(100)
	restock := []byte(h.RestockFlag(0))
	books := &verify.Tables{
		Flows:    []verify.FlowRow{{Flag: restock, Kind: operation.KindRestock, Goods: 1, Num: 50}},
		Restocks: []verify.RestockRow{{Flag: restock, Goods: 1, Name: []byte(h.GoodsName()), Price: &price}},
	}
	for n, s := range sales {
		h.AddOrder(items(1, 1))
		flag := []byte(h.Key(n))
		h.Calls = append(h.Calls, history.Call{
			Op: int32(n), Sent: s.sent, Done: s.answered, Code: 200, Status: history.Done, Named: history.ItemsAsSent,
		})
		books.Operations = append(books.Operations, verify.OperationRow{
			Flag: flag, State: history.Done, Items: []byte("1:1"), Token: bytes(s.token),
		})
		books.Flows = append(books.Flows, verify.FlowRow{Flag: flag, Kind: operation.KindDeduct, Goods: 1, Num: -1})
	}
	left := 50 - int64(len(sales))
	books.Products = []verify.ProductRow{{
		Goods: 1, Name: []byte(h.GoodsName()), Price: 100, Num: left, Token: bytes(row),
	}}
	return books, h
}

func TestTokensThatNoLockGaveAreUnlocked(t *testing.T) {
	t.Parallel()
	token := func(czxid int64, local uint64) zklock.Token { return zklock.Token{Czxid: czxid, Local: local} }
	for _, c := range []struct {
		name  string
		row   zklock.Token
		sales []sale
		want  int64
	}{
		{"rising", token(8, 1), []sale{{0, 1, token(7, 0)}, {2, 3, token(7, 1)}, {4, 5, token(8, 0)}}, 0},
		{"one tenure", token(7, 3), []sale{{0, 1, token(7, 3)}, {2, 3, token(7, 3)}}, 0},
		{"at the same time", token(8, 0), []sale{{0, 5, token(8, 0)}, {2, 3, token(7, 0)}}, 0},
		{"none", token(8, 0), []sale{{0, 1, token(8, 0)}, {2, 3, zklock.Token{}}}, 1},
		{"falling", token(8, 0), []sale{{0, 1, token(8, 0)}, {2, 3, token(7, 0)}, {4, 5, token(8, 0)}}, 1},
		{"a hand-off that falls", token(7, 9), []sale{{0, 1, token(7, 9)}, {2, 3, token(7, 8)}}, 1},
		{"from before the services", token(7, 0), []sale{{0, 1, token(4, 9)}, {2, 3, token(7, 0)}}, 1},
		{"beyond the last transaction", token(99, 0), []sale{{0, 1, token(7, 0)}, {2, 3, token(21, 0)}}, 1},
	} {
		books, h := sold(c.row, c.sales...)
		books.Since, books.Until = 4, 20
		v := verify.Judge(books.Books(), h, verify.Terms{})
		if v.Outcome != verify.Pass || v.Unlocked != c.want {
			t.Errorf("%s: %s, want %d unlocked", c.name, v, c.want)
		}
	}
}

// TestATokenAboveTheRow: a deduction writes its token to the row. A row without it is no fence, unless no row is one.
func TestATokenAboveTheRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  zklock.Token
		want []string
	}{
		"another's":        {zklock.Token{Czxid: 7}, []string{verify.OperationComplete}},
		"no row is fenced": {zklock.Token{}, nil},
	} {
		books, h := sold(c.row, sale{0, 1, zklock.Token{Czxid: 8}}, sale{2, 3, zklock.Token{Czxid: 7}})
		v := verify.Judge(books.Books(), h, verify.Terms{})
		if !slices.Equal(v.Violated(), c.want) || v.Unlocked == 0 {
			t.Errorf("%s: %s: %v, want %v", name, v, v.Violated(), c.want)
		}
	}
}

// An operation whose order the run skipped has no items that could have a token.
func TestAnOperationOfASkippedOrder(t *testing.T) {
	t.Parallel()
	token := zklock.Token{Czxid: 7}
	books, h := sold(token, sale{0, 1, token}, sale{2, 3, token})
	skipped := &history.History{Run: h.Run, Path: h.Path, Goods: h.Goods, Calls: h.Calls[:1]}
	skipped.AddOrder(h.Items(0))
	skipped.AddOrder(nil)
	v := verify.Judge(books.Books(), skipped, verify.Terms{})
	if !slices.Contains(v.Violated(), verify.Unexplained) {
		t.Errorf("want %s, found %v", verify.Unexplained, v.Violated())
	}
}

func TestTheLastTransaction(t *testing.T) {
	t.Parallel()
	addr := serverstest.ZooKeeper(t).Addr()
	_ = serverstest.ZooKeeperRoot(t) // creates a node
	before := verify.LastTransaction(t.Context(), []string{addr})
	root := serverstest.ZooKeeperRoot(t)
	if after := verify.LastTransaction(t.Context(), []string{addr}); before <= 0 || after <= before {
		t.Errorf("%d, and %d after %s was created", before, after, root)
	}
	if unknown := verify.LastTransaction(t.Context(), []string{addr, "127.0.0.1:1"}); unknown != 0 {
		t.Errorf("%d, though one server does not answer", unknown)
	}
}
