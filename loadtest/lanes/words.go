package lanes

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/report"
	"orderstock/pkg/operation"
)

// describe returns an event in words, and its weight: 0 if it is left out.
func (r *Run) describe(e faultpoint.Event) (text string, weight int) {
	of := ofProduct(r.productOf(e))
	if strings.HasPrefix(e.Process, "order") && (e.Step == faultpoint.Commit || e.Step == faultpoint.RollBack) {
		return "", 0
	}
	switch faultpoint.Point(e.Step, e.When) {
	case "sends/":
		if text = map[string]string{"place": "orders", "cancel": "cancels"}[e.From]; e.Taken != nil {
			text += report.English.Sprintf(" %d%s", *e.Taken, of)
		}
		return text, 5 * min(1, len(text))
	case "hears/":
		if e.From == "twin" || e.From == "again" {
			return "", 0
		}
		return "hears: " + r.heard(e), 5
	case "insert-order/after":
		if e.Said == "false" {
			return "finds the key's first order", 1
		}
		return "writes the order: PENDING", 2
	case "set-flag/after":
		return "puts the flag into Redis", 1
	case "call-stock/before":
		return "asks the stock service", 3
	case "call-stock/after":
		return "hears: " + answer(e), 3
	case "take-flag/after":
		if e.Said == "true" {
			return "takes the flag from Redis", 1
		}
		return "finds no flag in Redis", 2
	case "lookup-flow/after":
		return "looks into the ledger: " + found(e.Said), 2
	case "deduct/after":
		if faultpoint.IsGroup(e.Flag) {
			return "", 0
		}
		return "answers: " + answer(e), 1
	case "acquire-lock/before":
		return "asks for the lock" + of, 1
	case "acquire-lock/after":
		if number := token(e.Token); number != "" {
			of += ", " + number
		}
		return "takes the lock" + of, 4
	case "give-up/after":
		if !strings.Contains(e.Error, "deadline") {
			return "gets no lock: an error", 3
		}
		return "gives up waiting", 3
	case "read-stock/after":
		return "reads " + report.Many(*e.Read, "piece") + of, 4
	case "announce-token/after":
		if *e.Rows == 0 {
			return "its token is too low for the row", 2
		}
		return "writes its token to the row", 1
	case "update-stock/after":
		return r.update(e, of), 4
	case "commit/after":
		if e.Said == refusal {
			return "commits the refusal", 4
		}
		return "commits", 4
	case "roll-back/before":
		return "rolls back", 3
	case "release-lock/before":
		return "gives the lock" + of + " back", 4
	case "confirm/after":
		return "reads the ledger: " + found(e.Said), 2
	case "set-status/after", "cancel-order/after":
		if e.Said != "true" {
			return "", 0
		}
		return "the order is " + e.To, 4
	case "cancel-flag/after":
		return "cancels the flag: " + strings.ToLower(e.Said), 3
	case "queue/after":
		if e.Behind == "" {
			return "is first in the queue: " + node(e.Node), 2
		}
		return node(e.Node) + " waits behind " + node(e.Behind), 2
	case "woken/after":
		return "wakes up: " + node(e.Behind) + " is gone", 3
	case "unlatched/after":
		return node(e.Behind) + " goes away", 4
	case "delete-node/before":
		if e.Deleted == e.Node {
			return "deletes its node " + node(e.Node), 1
		}
		return "deletes " + node(e.Deleted), 4
	case "leave-node/after":
		return "leaves its node " + node(e.Node), 4
	case "make-parent/before":
		return "finds no parent node", 1
	case "make-parent/after":
		if e.Error != "" {
			return "creates it: it exists", 1
		}
		return "creates it", 1
	}
	return "", 0
}

// update describes an update of a level.
func (r *Run) update(e faultpoint.Event, of string) string {
	refused := e.Rows != nil && *e.Rows == 0
	switch {
	case e.Written != nil && refused:
		return report.English.Sprintf("would write %d%s", *e.Written, of)
	case e.Written != nil:
		return report.English.Sprintf("writes %d%s", *e.Written, of)
	case e.Taken != nil && refused:
		return report.English.Sprintf("takes %d%s: refused", *e.Taken, of)
	case e.Taken != nil && *e.Taken < 0:
		return report.English.Sprintf("adds %d%s", -*e.Taken, of)
	case e.Taken != nil:
		return report.English.Sprintf("takes %d%s", *e.Taken, of)
	}
	return "writes the levels"
}

// heard describes an answer to a client.
func (r *Run) heard(e faultpoint.Event) string {
	switch {
	case e.Said == "REJECTED" || e.Said == "CANCELLED":
		return "failed"
	case e.Said == "CONFIRMED" || e.Said == "DONE":
		return "confirmed"
	case e.Said == "PENDING" || e.Said == "CANCELLING":
		return "not yet known"
	case e.Error == "timeout" || e.Error == "broken" || e.Error == "refused":
		return "nothing"
	}
	return "an error, " + e.Error
}

// tooLate stands for an answer that came too late.
const tooLate = "nothing in time"

// answer describes an answer of a service.
func answer(e faultpoint.Event) string {
	switch {
	case e.Action == faultpoint.Error:
		return "nothing, the answer is lost"
	case strings.Contains(e.Error, "conflict"):
		return "a repeat, and no outcome"
	case strings.Contains(e.Error, operation.ErrUnknownOutcome.Error()) || strings.Contains(e.Error, "deadline"):
		return tooLate
	case e.Error != "":
		return "an error"
	}
	return strings.ToLower(e.Said)
}

// found describes the outcome under a flag in the ledger.
func found(state string) string {
	if state == "" {
		return "nothing yet"
	}
	return strings.ToLower(state)
}

// token returns the words for a fencing token, a number that rises from holder to holder; "" for none.
func token(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 {
		return ""
	}
	n := fmt.Sprint(uint32(binary.BigEndian.Uint64(b)))
	if local := binary.BigEndian.Uint64(b[8:]); local > 0 {
		n += fmt.Sprintf("-%d", local)
	}
	return "token " + n
}

// node returns the number of a node in a lock's queue.
func node(name string) string {
	n, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:]) // ZooKeeper's ten digits
	return fmt.Sprintf("…%d", n)
}

// productOf returns the name of an event's product; "" if it has none, or if the run has no other.
func (r *Run) productOf(e faultpoint.Event) string {
	if e.Goods == 0 || len(r.History.Goods) < 2 {
		return ""
	}
	i, _ := r.History.Product(e.Goods)
	return fmt.Sprintf("product %d", i+1)
}

// ofProduct returns the words after a level or a lock: its product, if that has a name.
func ofProduct(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}
