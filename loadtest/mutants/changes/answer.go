package changes

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"orderstock/loadtest/history"
)

// changeAnswer changes one field of an answer.
func (c *change) changeAnswer(r *rand.Rand) bool {
	c.table, c.history = "calls", c.base.History.Clone()
	h := c.history
	i := r.IntN(len(h.Calls))
	call := &h.Calls[i]
	other := h.Calls[r.IntN(len(h.Calls))]
	c.before = *call
	switch r.IntN(8) {
	case 0:
		c.what = "Code"
		call.Code = []uint16{0, 200, 201, 202, 400, 404, 409, 422, 429, 500, 502, 503, other.Code}[r.IntN(13)]
	case 1:
		c.what = "Status"
		call.Status = history.Status(r.IntN(int(history.Unheard) + 1))
	case 2:
		c.what = "Problem"
		call.Problem = history.Problem(r.IntN(int(history.Problems)))
	case 3:
		c.what = "Told"
		call.Told = []history.Told{history.ToldNothing, history.ToldAsSent, c.tellOther(r, call)}[r.IntN(3)]
	case 4:
		c.what = "Order"
		call.Order = []int64{0, call.Order + 1, other.Order}[r.IntN(3)]
	case 5:
		c.what = "Total"
		call.Total = []int64{0, call.Total + 1, other.Total, -call.Total}[r.IntN(4)]
	case 6:
		c.what = "Replayed"
		call.Replayed = !call.Replayed
	case 7:
		c.what = "Failure"
		call.Failure = history.Failure(r.IntN(int(history.Unsent) + 1))
	}
	c.after = *call
	return c.before != c.after
}

// tellOther returns an answer with one item more or less, or with another number or price.
func (c *change) tellOther(r *rand.Rand, call *history.Call) history.Told {
	h, sent := c.history, c.history.Items(int(call.Op))
	named := h.AsSent(call.Kind, int(call.Op))
	switch at := r.IntN(len(named)); r.IntN(4) {
	case 0:
		named[at].Num++
	case 1:
		named[at].Price++
	case 2:
		named[at].GoodsID++
	case 3:
		named = append(named, named[at])
	}
	return h.Tell(call.Kind, sent, named)
}

// changeFile deletes, duplicates, moves or truncates a line of the history's file, and reads the file again.
func (c *change) changeFile(r *rand.Rand) bool {
	c.table = "file"
	if c.base.file == nil {
		var file bytes.Buffer
		if err := c.base.History.Write(&file); err != nil {
			panic(err) // writing to a buffer does not fail
		}
		c.base.file = file.Bytes()
	}
	lines := bytes.SplitAfter(c.base.file, []byte("\n"))
	lines = lines[:len(lines)-1] // nothing follows the last newline
	i, k := r.IntN(len(lines)), r.IntN(len(lines))
	c.before = string(lines[i])
	switch r.IntN(4) {
	case 0:
		c.what = "deleted"
		lines = slices.Delete(lines, i, i+1)
	case 1:
		c.what = "doubled"
		lines = slices.Insert(lines, k, lines[i])
	case 2:
		c.what = "moved"
		if i == k {
			return false
		}
		lines[i], lines[k] = lines[k], lines[i]
	case 3:
		c.what = "cut"
		lines = lines[:i+1]
		lines[i] = lines[i][:r.IntN(len(lines[i]))]
	}
	h, err := history.Read(bytes.NewReader(bytes.Join(lines, nil)))
	if c.unreadable = err != nil; !c.unreadable {
		c.history = h
	}
	return true
}
