package verify

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// deduction is a deduction of order n under a fencing token.
type deduction struct {
	n     int32
	token zklock.Token
}

// unlocked counts the deductions that no lock protected: without a token, or with one that somebody made up. The queue
// of a lock gives no token from before the services were started, and none beyond ZooKeeper's last transaction. The
// tokens of a product rise, so none is below another's that was answered before, and none is above its row's: where
// rows have tokens, that is a violation, as a holder who lost the lock would not be refused by such a row.
func (j *judgement) unlocked() (count int64) {
	fenced := slices.ContainsFunc(j.products, func(p product) bool { return !p.token.IsZero() })
	single := make([][]deduction, len(j.products))
	for _, d := range j.deductions {
		items := j.h.Items(int(d.n))
		i, _ := j.h.Product(items[0].GoodsID)
		row := j.products[i].token
		if !slices.ContainsFunc(items, func(it history.Item) bool { return !j.product(it.GoodsID).token.Less(d.token) }) {
			count++
			if fenced {
				j.add(OperationComplete, nil, int(d.n), items[0].GoodsID, "the operation's fencing token, or a higher one, on the "+
					"row of a product of it", "%s in the operation, %s on the row", d.token, row)
			}
		} else if d.token.IsZero() || j.books.impossible(d.token) {
			count++
		} else if len(items) == 1 { // of several products, nobody knows whose token it is
			single[i] = append(single[i], d)
		}
	}
	for _, all := range single {
		count += j.fallen(all)
	}
	return count
}

// impossible reports whether no lock can have given the token.
func (b *Books) impossible(token zklock.Token) bool {
	return b.Since > 0 && token.Czxid <= b.Since || b.Until > 0 && token.Czxid > b.Until
}

// fallen counts the deductions of one product whose token is below the token of one that was answered before they were
// sent.
func (j *judgement) fallen(all []deduction) (count int64) {
	type span struct {
		sent, done time.Duration
		token      zklock.Token
	}
	spans := make([]span, len(all))
	for i, d := range all {
		at := j.times(int(d.n))
		spans[i] = span{at.sent, at.sold, d.token}
	}
	byDone := slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.sent, b.sent) })
	slices.SortFunc(byDone, func(a, b span) int { return cmp.Compare(a.done, b.done) })
	var highest zklock.Token // of those answered so far
	for _, s := range spans {
		for len(byDone) > 0 && byDone[0].done < s.sent {
			if highest.Less(byDone[0].token) {
				highest = byDone[0].token
			}
			byDone = byDone[1:]
		}
		if s.token.Less(highest) {
			count++
		}
	}
	return count
}

// LastTransaction returns the highest last transaction of the ZooKeeper servers, or 0 if one of them does not say it.
func LastTransaction(ctx context.Context, addrs []string) (last int64) {
	for _, addr := range addrs {
		answer, _ := servers.AttachZooKeeper(addr).Command(ctx, "srvr") // without an answer, nothing is found in it
		_, hex, _ := strings.Cut(answer, "\nZxid: 0x")
		hex, _, _ = strings.Cut(hex, "\n")
		zxid, err := strconv.ParseInt(hex, 16, 64)
		if err != nil {
			return 0
		}
		last = max(last, zxid)
	}
	return last
}
