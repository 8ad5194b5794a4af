package verify

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// asides judges the calls that concern no single order.
func (j *judgement) asides() {
	j.invented()
	for i := range j.h.Asides {
		a := &j.h.Asides[i]
		if !a.Ended() {
			last := (a.Row == history.RowPage || a.Row == history.RowLevel) &&
				!slices.ContainsFunc(j.h.Asides[i+1:], func(b history.Aside) bool { return b.Row == a.Row })
			j.unserved(a, last)
			continue
		}
		wanted := j.allowed(a)
		right := slices.ContainsFunc(wanted, func(w want) bool { return w.code == a.Code && w.problem == a.Problem })
		switch {
		case a.OtherID:
			j.add(AnswerWellFormed, nil, int(a.Op), 0, "the call's X-Request-Id in its answer", "%s", answered(a))
		case len(wanted) == 0 && documented(a) && !a.NoHint:
		case !right || a.NoHint:
			expected := "an answer by the contract"
			if len(wanted) > 0 {
				expected = wanted[0].String()
			}
			j.add(AnswerWellFormed, nil, int(a.Op), 0, expected, "%s", answered(a))
		case a.Code == http.StatusOK && a.Method != http.MethodHead:
			j.contentsOf(a)
		case a.Answer != "" || a.Next != 0 || len(a.Listed) > 0:
			j.add(AnswerWellFormed, nil, int(a.Op), 0, "a refusal alone", "%s", answered(a))
		}
	}
}

// documented reports whether the OpenAPI documents name the status of an answer to a call of which nothing else is
// known but that its token, if it needs one, and its media type are right.
func documented(a *history.Aside) bool {
	r := routeOf(a)
	return r != nil && slices.Contains(r.Statuses, int(a.Code)) && a.Code != http.StatusUnauthorized &&
		a.Code != http.StatusUnsupportedMediaType
}

// answered describes a call and its answer.
func answered(a *history.Aside) string {
	text := strconv.Itoa(int(a.Code)) + " " + a.Problem.String() + " " + a.Failure.String()
	text = strings.TrimSpace(text) + " for " + a.Method + " " + cut(a.Path)
	for name, value := range map[string]string{"token": a.Token, "key": a.Key, "body": a.Body} {
		if value != "" {
			text += ", " + name + " " + strconv.Quote(cut(value))
		}
	}
	return text + " (" + a.Row + ", at " + a.Sent.Round(1e6).String() + ")"
}

// cut shortens a text.
func cut(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

// unserved judges an aside without an end. Of the levels and the pages, the last was repeated.
func (j *judgement) unserved(a *history.Aside, last bool) {
	right := a.Answer == "" && a.Next == 0 && len(a.Listed) == 0 && !a.NoHint && !a.OtherID
	switch {
	case a.Code == 0:
		right = right && a.Failure != history.Answered && a.Failure != history.Unreadable && a.Problem == history.NoProblem
	case a.Failure != history.Answered, !refuses(a.Code, a.Problem):
		right = false
	}
	if !right {
		j.add(AnswerWellFormed, nil, int(a.Op), 0, "an answer by the contract", "%s", answered(a))
		return
	}
	switch {
	case j.owesEnd(a.Failure, a.Code, a.Sent, a.Done, false):
		j.add(Served, nil, int(a.Op), 0, endAtOnce, "%s", answered(a))
	case last && !a.Postponed && j.h.Patience > 0 && served(a.Failure):
		j.add(Served, nil, int(a.Op), 0, endAtLast, "%s", answered(a))
	}
}

// contentsOf judges the body of an answer that is right by its status.
func (j *judgement) contentsOf(a *history.Aside) {
	var text struct {
		operation.Goods
		All  *[]operation.Goods `json:"goods"`
		Next string             `json:"next"`
		stockapi.FlowsResponse
	}
	values, _ := parameters(contract.Find(a.Method, a.Route), a.Path)
	switch a.Route {
	case "/v1/orders":
		j.orderList(a, values)
		return
	case together:
		if a.Next != 0 || len(a.Listed) > 0 || !j.eachAnswered(a) {
			j.add(AnswerWellFormed, nil, int(a.Op), 0, "a line for each deduction, as if it had come alone", "%s: %s",
				answered(a), cut(a.Answer))
		}
		return
	}
	if a.Next != 0 || len(a.Listed) > 0 || json.Unmarshal([]byte(a.Answer), &text, contract.Strict) != nil ||
		(a.Route == "/v1/stock") != (text.All != nil) {
		j.add(AnswerWellFormed, nil, int(a.Op), 0, "a body by the contract", "%s: %s", answered(a), cut(a.Answer))
		return
	}
	switch {
	case a.Route == "/v1/flows":
		j.flows(a, values["flag"], text.Operations, text.Flows)
	case text.All != nil:
		j.goodsList(a, values, *text.All, text.Next)
		for _, g := range *text.All {
			j.level(a, g)
		}
	case strings.HasPrefix(a.Route, "/v1/stock/{goods_id}"):
		if values.Get("goods_id") != strconv.FormatInt(text.GoodsID, 10) {
			j.add(AnswersTrue, nil, -1, text.GoodsID, "the product that was asked for", "%s", answered(a))
		}
		j.level(a, text.Goods)
	}
}

// flows judges the records under some flags: operations, each with the items of its order, and their flow rows, which
// are read after the operations.
func (j *judgement) flows(a *history.Aside, flags []string, operations []operation.Operation, flows []operation.Flow) {
	for _, op := range operations {
		n, gave := j.ofFlag(op.Flag), op.State == operation.Done || op.State == operation.Restored
		right := slices.Contains(flags, op.Flag)
		if n >= 0 && len(op.Items) > 0 {
			right = right && slices.Equal(op.Items, j.h.Items(n))
		}
		for _, it := range op.Items {
			right = right && (!gave || slices.ContainsFunc(flows, func(f operation.Flow) bool {
				return f.Flag == op.Flag && f.Kind == operation.KindDeduct && f.GoodsID == it.GoodsID && f.Num == -it.Num
			}))
		}
		if !right {
			j.add(AnswersTrue, []byte(op.Flag), n, 0, "a flag that was asked for, the items of its order, and their "+
				"flow rows", "%s: %s", answered(a), cut(a.Answer))
		}
	}
	for _, f := range flows {
		n := j.ofFlag(f.Flag)
		pieces := map[operation.Kind]int64{operation.KindDeduct: -f.Num, operation.KindRestore: f.Num}[f.Kind]
		if !slices.Contains(flags, f.Flag) || n >= 0 &&
			!slices.Contains(j.h.Items(n), history.Item{GoodsID: f.GoodsID, Num: pieces}) {
			j.add(AnswersTrue, []byte(f.Flag), n, f.GoodsID, "flow rows of the flags that were asked for", "%s %+d: %s", f.Kind,
				f.Num, answered(a))
		}
		if j.product(f.GoodsID) != nil && !j.inRun(f.CreatedAt, a.Done) {
			j.add(AnswersTrue, []byte(f.Flag), n, f.GoodsID, "a date within the run, or nearly", "%s: %s",
				zulu(f.CreatedAt), answered(a))
		}
	}
}

// eachAnswered reports whether each of several deductions in one call has a line in the answer that is right for it.
func (j *judgement) eachAnswered(a *history.Aside) bool {
	var sent struct {
		Operations []struct {
			Flag  string         `json:"flag"`
			Items jsontext.Value `json:"items"`
		} `json:"operations"`
	}
	if json.Unmarshal([]byte(a.Body), &sent) != nil {
		return false
	}
	lines := strings.Split(strings.TrimSpace(a.Answer), "\n")
	seen := map[int]bool{}
	for _, text := range lines {
		var line stockapi.DeductAnswer
		err := json.Unmarshal([]byte(text), &line, contract.Strict)
		if err != nil || line.Index < 0 || line.Index >= len(sent.Operations) {
			return false
		}
		of, got := sent.Operations[line.Index], want{code: http.StatusOK}
		seen[line.Index] = true
		if line.Problem != nil {
			got = want{code: uint16(line.Problem.Status), problem: history.ParseProblem(line.Problem.Code)}
		}
		bad := j.badBody(contract.Find(http.MethodPut, together+"/{flag}"), `{"items":`+string(of.Items)+`}`)
		switch {
		case (line.Problem == nil) == (line.Operation == nil):
			return false
		case line.Problem != nil && refuses(got.code, got.problem):
		case len(bad) > 0:
			if !slices.ContainsFunc(bad, func(w want) bool { return w.code == got.code && w.problem == got.problem }) {
				return false
			}
		case line.Problem != nil || line.Operation.Flag != of.Flag || !asSent(line.Operation.Items, of.Items):
			return false
		}
	}
	return len(seen) == len(sent.Operations) && len(lines) == len(seen)
}

// asSent reports whether a recorded operation has the items of a basket, or none, as one that was cancelled before.
func asSent(recorded []history.Item, basket jsontext.Value) bool {
	var items []history.Item
	if json.Unmarshal(basket, &items) != nil {
		return false
	}
	history.SortItems(items)
	return len(recorded) == 0 || slices.Equal(recorded, items)
}

// ofFlag returns the order with that flag, or -1 if no answer has named it.
func (j *judgement) ofFlag(flag string) int {
	if j.h.Path == history.PathDeduct {
		return j.h.OrderOf([]byte(flag))
	}
	id, _ := operation.ParseID(flag)
	for _, i := range j.knownOrders(id-1, id) {
		return int(j.h.Calls[i].Op)
	}
	return -1
}

// goodsList judges the products of a list: the named ones, or the ones after a cursor by rising id, up to the limit.
func (j *judgement) goodsList(a *history.Aside, values map[string][]string, all []operation.Goods, next string) {
	ids := make([]int64, len(all))
	for i, g := range all {
		ids[i] = g.GoodsID
	}
	rising := slices.IsSorted(ids) && len(slices.Compact(slices.Clone(ids))) == len(ids)
	limit, after, named := number(values, "limit", 100), number(values, "after", int64(0)), values["goods_id"]
	upTo, right := int64(math.MaxInt64), rising && (next == "" || len(named) == 0 && len(all) == limit)
	if next != "" && len(ids) > 0 {
		upTo = ids[len(ids)-1]
		right = right && next == strconv.FormatInt(upTo, 10)
	}
	asked := func(id int64) bool {
		if len(named) > 0 {
			return slices.Contains(named, strconv.FormatInt(id, 10))
		}
		return id > after && id <= upTo
	}
	for _, g := range j.h.Goods {
		right = right && asked(g.ID) == slices.Contains(ids, g.ID)
	}
	right = right && !slices.ContainsFunc(ids, func(id int64) bool { return !asked(id) })
	if !right || len(named) == 0 && len(all) > limit {
		j.add(AnswersTrue, nil, -1, 0, "the products that were asked for, and the cursor of the next page", "%d, next %q: %s",
			len(all), next, answered(a))
	}
}

// number returns a parameter that is a number, or its default.
func number[N int | int64](values map[string][]string, name string, otherwise N) N {
	if len(values[name]) == 0 || values[name][0] == "" {
		return otherwise
	}
	n, _ := strconv.ParseInt(values[name][0], 10, 64)
	return N(n)
}

// level judges the level of a product that was read: it lies between the pieces that may be left at most and at least
// during the call.
func (j *judgement) level(a *history.Aside, g operation.Goods) {
	p := j.product(g.GoodsID)
	if p == nil {
		return
	}
	least, most := max(p.least(a.Sent, a.Done), 0), p.most(a.Sent, a.Done)
	if body, ok := j.restockIn(a); ok {
		if r := j.restockUnder([]byte(body.Flag)); r.sent == a.Sent && r.again >= a.Done { // it shows its own pieces
			least += body.Num
		}
	}
	if g.Num < least || g.Num > most || !j.mayBePriced(p.ID, g.Price, a.Sent, a.Done) ||
		!j.mayBeNamed(p.ID, g.Name, a.Sent, a.Done) {
		pieces := strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10) + " pieces"
		if most < least {
			pieces = "no level, as more is deducted than the run stocked, but one"
		}
		j.add(AnswersTrue, nil, -1, g.GoodsID, pieces+" at a price in force, under the name", "%d at %d, %q: %s", g.Num,
			g.Price, g.Name, answered(a))
	}
}
