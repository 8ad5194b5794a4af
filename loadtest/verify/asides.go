package verify

import (
	"net/http"
	"slices"
	"strconv"

	"orderstock/loadtest/history"
)

// refusal is an answer to a call that the contract refuses.
type refusal struct {
	code    uint16
	problem history.Problem
}

// refusedAs are the right answers to odd calls, on PathOrder and on PathDeduct.
var refusedAs = map[history.AsideKind][2]refusal{
	history.BlankKey:         invalidKey,
	history.LongKey:          invalidKey,
	history.OtherBody:        usedKey,
	history.OtherProducts:    usedKey,
	history.TwiceInBasket:    bothWays(http.StatusUnprocessableEntity, history.DuplicateGoods),
	history.BeyondLimit:      invalidNum,
	history.Nothing:          invalidNum,
	history.Negative:         invalidNum,
	history.UnknownProduct:   bothWays(http.StatusUnprocessableEntity, history.UnknownGoods),
	history.UnknownOrder:     unknownOrder,
	history.CancelUnknown:    unknownOrder,
	history.NoToken:          unauthorized,
	history.NoTokenRead:      unauthorized,
	history.NoTokenRestock:   unauthorized,
	history.WrongToken:       unauthorized,
	history.RestockOther:     usedFlag,
	history.RestockPrice:     usedFlag,
	history.RestockElsewhere: usedFlag,
}

var (
	invalidKey = [2]refusal{
		{http.StatusBadRequest, history.InvalidKey}, {http.StatusUnprocessableEntity, history.InvalidFlag},
	}
	usedKey = [2]refusal{
		{http.StatusUnprocessableEntity, history.KeyReused}, {http.StatusConflict, history.FlagConflict},
	}
	invalidNum   = bothWays(http.StatusUnprocessableEntity, history.InvalidNum)
	unknownOrder = bothWays(http.StatusNotFound, history.OrderNotFound)
	unauthorized = bothWays(http.StatusUnauthorized, history.Unauthorized)
	usedFlag     = bothWays(http.StatusConflict, history.FlagConflict)
)

func bothWays(code uint16, problem history.Problem) [2]refusal {
	return [2]refusal{{code, problem}, {code, problem}}
}

// asides judges the calls that concern no single order.
func (j *judge) asides() {
	j.invented()
	bounds := map[int32]*levelBound{}
	for i := range j.h.Asides {
		a := &j.h.Asides[i]
		says := a.Kind.String() + " at " + a.Sent.Round(1e6).String() + ": " + strconv.Itoa(int(a.Code)) + " " +
			a.Problem.String() + " " + a.Failure.String()
		if !a.Ended() {
			last := a.Kind <= history.Page && !slices.ContainsFunc(j.h.Asides[i+1:], func(b history.Aside) bool {
				return b.Kind == a.Kind
			})
			j.unserved(a, says, last)
			continue
		}
		want, refused := refusedAs[a.Kind]
		right := a.Code == http.StatusOK && a.Problem == history.NoProblem
		if refused {
			w := want[0]
			if j.h.Path == history.PathDeduct {
				w = want[1]
			}
			right = a.Code == w.code && a.Problem == w.problem
		}
		if !right || !plain(a) {
			j.add(AnswerWellFormed, nil, int(a.Op), 0, "the answer of the contract to an odd call", "%s", says)
			continue
		}
		if showsLevel(a) {
			j.level(a, says, bounds)
		}
	}
}

// plain reports whether an aside has only what its kind is about.
func plain(a *history.Aside) bool {
	return (showsLevel(a) || a.Num == 0 && a.Price == 0) &&
		(a.Kind == history.Page || a.After == 0 && a.Next == 0 && len(a.Listed) == 0)
}

// showsLevel reports whether a right answer has the level and the price of a product.
func showsLevel(a *history.Aside) bool {
	return a.Kind == history.Level || a.Kind == history.Reprice || a.Kind == history.RestockAgain
}

// unserved judges an aside without an end. Of the levels and the pages, the last was repeated.
func (j *judge) unserved(a *history.Aside, says string, last bool) {
	known, listed := refusals[a.Code]
	right := plain(a) && a.Num == 0 && a.Price == 0 && a.Next == 0 && len(a.Listed) == 0
	switch {
	case a.Code == 0:
		right = right && a.Failure != history.Answered && a.Failure != history.Unreadable && a.Problem == history.NoProblem
	case a.Failure != history.Answered, listed && !slices.Contains(known, a.Problem):
		right = false
	}
	if !right {
		j.add(AnswerWellFormed, nil, int(a.Op), 0, "an answer by the contract", "%s", says)
		return
	}
	switch {
	case j.owesEnd(a.Failure, a.Code, a.Sent, a.Done, false):
		j.add(Served, nil, int(a.Op), 0, endAtOnce, "%s", says)
	case last && !a.Postponed && j.h.Patience > 0 && served(a.Failure):
		j.add(Served, nil, int(a.Op), 0, endAtLast, "%s", says)
	}
}

// level judges the level of a product that was read: it lies between the pieces that may be left at most and at least
// during the call.
func (j *judge) level(a *history.Aside, says string, bounds map[int32]*levelBound) {
	g := j.h.Goods[a.Goods]
	b := bounds[a.Goods]
	if b == nil {
		b = j.levelBound(int(a.Goods))
		bounds[a.Goods] = b
	}
	least, most := max(b.least(a.Sent, a.Done), 0), b.most(a.Sent, a.Done)
	if a.Kind == history.Reprice { // it shows its own pieces
		least += history.RepricePieces
	}
	if a.Num < least || a.Num > most || !j.inForce(int(a.Goods), a.Price, a.Sent, a.Done) {
		j.add(AnswersTrue, nil, -1, g.ID, strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10)+
			" pieces at a price in force", "%d at %d: %s", a.Num, a.Price, says)
	}
}
