package verifytest_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
)

// goodRun is a run that passes.
type goodRun struct {
	books   *verify.Tables
	history *history.History
	file    []byte // of the history; made on demand
}

// change is one change to a run that passes.
type change struct {
	of *goodRun
	// table is "orders", "items", "operations", "flows", "restocks", "products", "calls", "file" or "asides".
	table string
	// what names the field, or is "deleted", "doubled", "moved" or "invented".
	what string
	// before and after are the row that was changed.
	before, after any
	// unreadable is true if the history can no longer be read: the verdict is unknown.
	unreadable bool

	books   *verify.Tables
	history *history.History
}

func (c *change) String() string {
	text := fmt.Sprintf("%s %s: %s", c.table, c.what, show(c.before))
	if c.after != nil {
		text += " became " + show(c.after)
	}
	return text
}

// found reports whether the verdict on the change is anything but a pass.
func (c *change) found() bool {
	return c.unreadable || verify.Judge(c.books.Books(), c.history, verify.Terms{}).Outcome != verify.Pass
}

// change makes a random change.
func (g *goodRun) change(r *rand.Rand) *change {
	for {
		c := &change{of: g, books: g.books, history: g.history}
		if c.draw(r) {
			return c
		}
	}
}

// draw makes a change, and reports whether anything is different.
func (c *change) draw(r *rand.Rand) bool {
	books := c.of.books
	rows := []int{
		len(books.Orders), len(books.Items), len(books.Operations), len(books.Flows), len(books.Restocks),
		len(books.Products), len(c.of.history.Calls), 20, 4 * len(c.of.history.Asides),
	}
	sum := 0
	for _, n := range rows {
		sum += n
	}
	at, table := r.IntN(sum), 0
	for ; at >= rows[table]; table++ {
		at -= rows[table]
	}
	if table < 6 {
		c.books = copyOf(books)
	}
	switch table {
	case 0:
		return changeRows(c, r, "orders", &c.books.Orders, func(o *verify.OrderRow) { o.ID += 1 + r.Int64N(1000) })
	case 1:
		return changeRows(c, r, "items", &c.books.Items, func(i *verify.ItemRow) { i.Order += 1 + r.Int64N(1000) })
	case 2:
		return changeRows(c, r, "operations", &c.books.Operations, func(o *verify.OperationRow) { o.Flag = stranger(r) })
	case 3:
		return changeRows(c, r, "flows", &c.books.Flows, func(f *verify.FlowRow) { f.Flag = stranger(r) })
	case 4:
		return changeRows(c, r, "restocks", &c.books.Restocks, func(s *verify.RestockRow) { s.Flag = stranger(r) })
	case 5:
		return changeRows(c, r, "products", &c.books.Products, nil)
	case 6:
		return c.changeAnswer(r)
	case 7:
		return c.changeFile(r)
	}
	return c.changeAside(r)
}

// copyOf returns a copy with its own slices of rows. Pointers in the rows are shared.
func copyOf(t *verify.Tables) *verify.Tables {
	c := *t
	c.Orders, c.Items, c.Operations = slices.Clone(t.Orders), slices.Clone(t.Items), slices.Clone(t.Operations)
	c.Flows, c.Restocks = slices.Clone(t.Flows), slices.Clone(t.Restocks)
	c.Products, c.Pruned = slices.Clone(t.Products), slices.Clone(t.Pruned)
	return &c
}

// stranger returns the flag of an order, a deduction or a restock outside the run.
func stranger(r *rand.Rand) []byte {
	text := fmt.Sprint(1_900_000_000_000_000_000 + r.Int64N(1e17))
	return []byte(pick(r, "", history.DirectPrefix, "restock-") + text)
}

// changeRows changes, deletes, doubles, moves or invents a row. estrange gives a row the flag of a stranger.
func changeRows[T any](c *change, r *rand.Rand, table string, rows *[]T, estrange func(*T)) bool {
	c.table = table
	i := r.IntN(len(*rows))
	row := (*rows)[i]
	c.before = row
	switch draw := r.IntN(12); {
	case draw == 0:
		c.what = "deleted"
		*rows = append((*rows)[:i:i], (*rows)[i+1:]...)
		return true
	case draw == 1:
		c.what = "doubled"
		*rows = append(*rows, row)
		return true
	case draw == 2 && estrange != nil:
		c.what = "invented"
		estrange(&row)
		c.after = row
		*rows = append(*rows, row)
		return true
	case draw == 3 && estrange != nil:
		c.what = "moved"
		estrange(&row)
	default:
		other := reflect.ValueOf((*rows)[r.IntN(len(*rows))])
		c.what = changeField(r, reflect.ValueOf(&row).Elem(), other)
	}
	(*rows)[i], c.after = row, row
	return !reflect.DeepEqual(c.before, c.after)
}

// changeField changes one field of a row, perhaps to another row's value, and returns its name.
func changeField(r *rand.Rand, row, other reflect.Value) string {
	i := r.IntN(row.NumField())
	field, name := row.Field(i), row.Type().Field(i).Name
	switch {
	case row.Type().Field(i).Anonymous:
		return changeField(r, field, other.Field(i))
	case r.IntN(3) == 0:
		field.Set(other.Field(i))
		return name
	}
	switch value := field.Interface().(type) {
	case int64:
		field.SetInt(pick(r, value+1, value-1, -value, 0, 2*value, r.Int64()))
	case *int64:
		price := r.Int64N(1000)
		field.Set(reflect.ValueOf(&price))
		if r.IntN(2) == 0 {
			field.SetZero()
		}
	case bool:
		field.SetBool(!value)
	case history.Status:
		field.Set(reflect.ValueOf(upTo(r, history.Unheard)))
	case operation.Kind:
		all := []operation.Kind{operation.KindRestock, operation.KindDeduct, operation.KindRestore, verify.KindPruned}
		field.Set(reflect.ValueOf(pick(r, all...)))
	case verify.Text:
		field.Set(reflect.ValueOf(verify.Text(changeText(r, value))))
	default:
		panic(fmt.Sprintf("no change for %s of type %T", name, value))
	}
	return name
}

func changeText(r *rand.Rand, text []byte) []byte {
	changed := append([]byte{}, text...)
	if len(changed) == 0 {
		return []byte("x")
	}
	i := r.IntN(len(changed))
	switch r.IntN(5) {
	case 0:
		return []byte{}
	case 1:
		return append(changed, '0')
	case 2:
		return changed[:i]
	case 3:
		return []byte(`"` + string(text) + `"`)
	}
	changed[i] ^= 1
	return changed
}

func show(row any) string {
	v := reflect.ValueOf(row)
	if v.Kind() != reflect.Struct {
		return fmt.Sprint(row)
	}
	text := "{"
	for i := range v.NumField() {
		value := v.Field(i).Interface()
		if b, ok := value.(verify.Text); ok {
			value = fmt.Sprintf("%q", b)
		}
		text += fmt.Sprintf(" %s:%v", v.Type().Field(i).Name, value)
	}
	return text + " }"
}
