package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// phase is a phase in progress.
type phase struct {
	*run
	name      string
	number    int
	vars      shop.Vars
	stock     map[string]shop.Pieces
	before    *books.Books
	evidence  *Evidence // for its verdict
	baskets   [][]Item
	draw      *rand.Rand // of the baskets
	orders    []*prepared
	planned   int // orders; a few more may follow
	group     int // orders of one buyer, if there is a limit; else 1
	lastBuyer int // the number of the last one
	ofBuyer   map[int][]*prepared
	start     time.Time
	kills     []Span
	deaths    []Death
	// reserved: carts hold pieces before the first order.
	reserved bool

	placed  sync.Once    // when the first order has steps after it
	between *books.Books // then, before its steps; nil if they could not be read

	down         sync.RWMutex       // held while the service is killed
	ready, ended atomic.Int64       // buyers, and orders with all their calls, of each round
	mu           sync.Mutex         // guards the calls of orders, and ends
	ends         map[shop.Means]int // of the orders that have calls
}

func newPhase(r *run, name string, number int) *phase {
	return &phase{run: r, name: name, number: number, ends: map[shop.Means]int{}, ofBuyer: map[int][]*prepared{}}
}

// prepared is an order whose buyer is ready: its request is bytes.
type prepared struct {
	Order
	lines    []Item // the basket in the order of its request: each comes in all of them
	session  *send.Session
	vars     shop.Vars
	placed   *shop.Answer // the first one that placed the order, if steps follow it
	finished bool         // the steps after it were begun
}

// judge runs the phase and judges it. An error is a reason not to know.
func (p *phase) judge(ctx context.Context, first bool) (*Verdict, error) {
	if err := p.open(ctx, first); err != nil {
		return nil, err
	}
	if err := p.plan(); err != nil {
		return nil, err
	}
	stop := fire.ShowProgress(ctx, p.Progress, p.progress, p.line)
	err := p.fire(ctx)
	stop()
	if err == nil {
		err = p.probe(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.verdict(ctx)
}

// open brings the stock to where the file says, and reads the books.
func (p *phase) open(ctx context.Context, first bool) error {
	p.vars = shop.Vars{"run": p.id, "phase": p.name, "serial": serials.take(1)}
	if !first && !p.renewed() {
		return errors.New("the stock is not known after the first phase: reset: brings it back, or name the products " +
			"with {{phase}}")
	}
	if p.service != nil {
		if err := p.service.ensure(ctx); err != nil {
			return err
		}
	}
	if err := p.reset(ctx); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	p.stock = map[string]shop.Pieces{}
	for name, pieces := range p.f.Stock {
		product, err := p.vars.Text(name)
		if err != nil {
			return err
		}
		p.stock[shop.ID(product)] = pieces
	}
	if p.f.Books == nil {
		return nil
	}
	var err error
	if p.before, err = p.reader.Read(ctx, p.vars); err != nil || p.before.Levels == nil {
		return err
	}
	return p.stocked()
}

// stocked returns an error unless the books have the stock of the file.
func (p *phase) stocked() error {
	levels := p.before.Stock()
	for product, want := range p.stock {
		level, found := levels[product]
		switch {
		case !found && len(p.before.Levels) == 0:
			return errors.New("the query of books.stock finds no product")
		case !found:
			return fmt.Errorf("the query of books.stock finds no product %q; it finds %s", product, p.found())
		case level != want && len(p.f.Reset) == 0:
			return fmt.Errorf("the books have %s pieces of product %s, and the file says %s: reset: in the file brings it there",
				level, product, want)
		case level != want:
			return fmt.Errorf("after reset, the books have %s pieces of product %s, and the file says %s", level, product, want)
		}
	}
	return nil
}

// found names some of the products in the books.
func (p *phase) found() string {
	var names []string
	for _, l := range p.before.Levels[:min(5, len(p.before.Levels))] {
		names = append(names, fmt.Sprintf("%q", l.Product))
	}
	return strings.Join(names, ", ")
}

// mostOrders bounds the default number of orders.
const mostOrders = 2000

// mostGroup bounds the orders that a buyer may have.
const mostGroup = 10

// plan draws the orders.
func (p *phase) plan() error {
	p.baskets = make([][]Item, len(p.f.Order.Baskets))
	for i, basket := range p.f.Order.Baskets {
		for name, pieces := range basket {
			product, err := p.vars.Text(name)
			if err != nil {
				return err
			}
			p.baskets[i] = append(p.baskets[i], Item{shop.ID(product), pieces})
		}
		slices.SortFunc(p.baskets[i], func(a, b Item) int { return strings.Compare(a.Product, b.Product) })
	}
	p.draw, p.planned = p.random(0), p.Orders
	p.group = 1
	if l := p.f.Limit; l != nil {
		least := l.Pieces
		for _, basket := range p.baskets {
			least = min(least, (&Order{Basket: basket}).pieces())
		}
		p.group = min(int(l.Pieces/least), mostGroup) + 1 // so that each buyer asks for more than the limit
	}
	if p.planned == 0 {
		p.planned = min(enough(p.stock, p.baskets)*p.group/max(1, p.group-1), mostOrders)
	}
	_, err := p.more(p.planned, p.baskets)
	return err
}

// more draws so many orders more, each basket as often as any other, and returns them.
func (p *phase) more(n int, baskets [][]Item) ([]*prepared, error) {
	first := orderNumbers.take(n)
	for i, j := range p.draw.Perm(max(n, len(baskets)))[:n] {
		if i%p.group == 0 {
			p.lastBuyer++
		}
		if err := p.add(baskets[j%len(baskets)], len(p.orders), first+int64(i)); err != nil {
			return nil, err
		}
	}
	return p.orders[len(p.orders)-n:], nil
}

// add adds an order.
func (p *phase) add(basket []Item, i int, number int64) error {
	o := &prepared{}
	o.Key = fmt.Sprintf("%s-%s-%d", p.id, p.name, i)
	o.Basket, o.Number = basket, number
	o.lines = slices.Clone(basket)
	p.draw.Shuffle(len(basket), func(i, j int) { o.lines[i], o.lines[j] = o.lines[j], o.lines[i] })
	o.UUID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(o.Key)).String()
	o.vars = p.vars.With(shop.Vars{"key": o.Key, "uuid": o.UUID, "n": o.Number, "i": i + 1})
	if p.f.Limit != nil {
		o.Buyer = p.lastBuyer
		o.vars["buyer"] = o.Buyer
		p.ofBuyer[o.Buyer] = append(p.ofBuyer[o.Buyer], o)
	}
	if len(o.Basket) == 1 {
		o.vars["product"], o.vars["pieces"] = o.Basket[0].Product, o.Basket[0].Pieces
	}
	if of := p.f.Order.Item; of != nil {
		items := []any{}
		for _, it := range o.lines {
			value, err := o.vars.With(shop.Vars{"product": it.Product, "pieces": it.Pieces}).Value(of)
			if err != nil {
				return err
			}
			items = append(items, value)
		}
		o.vars["items"] = items
	}
	p.orders = append(p.orders, o)
	return nil
}

// limited reports whether an order may be rejected since its buyer has others, once nothing is under way.
func (p *phase) limited(o *prepared) bool {
	if p.f.Limit == nil {
		return false
	}
	pieces := o.pieces()
	for _, other := range p.ofBuyer[o.Buyer] {
		if other != o && other.reached() && other.end() != shop.Rejected {
			pieces += other.pieces()
		}
	}
	return pieces > p.f.Limit.Pieces
}

// random returns random numbers that depend on the seed, the phase and what they are for.
func (p *phase) random(use uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, uint64(p.number)<<32|use))
}

// enough returns how many orders ask for half as many pieces again as there are, of each product that is ordered: as
// many of each basket, but at least ten in all.
func enough(stock map[string]shop.Pieces, baskets [][]Item) (orders int) {
	each := map[string]shop.Pieces{} // the pieces in one order of each basket
	for _, basket := range baskets {
		for _, it := range basket {
			each[it.Product] += it.Pieces
		}
	}
	for product, pieces := range stock {
		if each[product] > 0 {
			ofEach := int(math.Ceil(1.5 * float64(pieces) / float64(each[product])))
			orders = max(orders, ofEach*len(baskets), 10)
		}
	}
	return orders
}

// fire gets the buyers ready and sends the orders of the phase.
func (p *phase) fire(ctx context.Context) error {
	if err := p.buyers(ctx, p.orders); err != nil {
		return err
	}
	if err := p.carts(ctx); err != nil {
		return err
	}
	p.start = time.Now()
	switch p.name {
	case Alone:
		return p.each(ctx, 1, p.orders, p.buy)
	case Repeated:
		return p.repeated(ctx)
	case Killed:
		return p.killed(ctx)
	case Cancelled:
		return p.cancelled(ctx)
	}
	return p.together(ctx)
}

// each does work for each order that has a request, by so many clients.
func (p *phase) each(
	ctx context.Context, clients int, orders []*prepared, work func(context.Context, *prepared),
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for _, o := range orders {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if o.Request != nil {
				work(ctx, o)
			}
			p.ended.Add(1)
			return ctx.Err()
		})
	}
	return group.Wait()
}

// buyers does the steps of each order's buyer: several at the same time, unless nothing is to overlap. If a buyer has
// several orders, the steps for one follow those for another: nobody registers twice at the same moment.
func (p *phase) buyers(ctx context.Context, orders []*prepared) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(p.Clients, 16))
	if p.name == Alone {
		group.SetLimit(1)
	}
	for len(orders) > 0 {
		n := 1
		for p.f.Limit != nil && n < len(orders) && orders[n].Buyer == orders[0].Buyer {
			n++
		}
		same := orders[:n]
		orders = orders[n:]
		group.Go(func() error {
			for _, o := range same {
				if err := p.buyer(ctx, o); err != nil {
					return err
				}
				p.ready.Add(1)
			}
			return nil
		})
	}
	return group.Wait()
}

// carts notes whether the steps of the buyers have taken pieces from the stock.
func (p *phase) carts(ctx context.Context) error {
	if len(p.f.Buyer) == 0 || p.before == nil {
		return nil
	}
	now, err := p.reader.Read(ctx, p.vars)
	if err != nil {
		return err
	}
	was, is := p.before.Stock(), now.Stock()
	for product := range p.stock {
		p.reserved = p.reserved || was[product] != is[product]
	}
	return nil
}

func (p *phase) buyer(ctx context.Context, o *prepared) error {
	o.session = p.sender.Session()
	for i := range p.f.Buyer {
		step := &p.f.Buyer[i]
		items := []Item{{}}
		if step.Each == "item" {
			items = o.lines
		}
		for _, it := range items {
			vars := o.vars
			if step.Each == "item" {
				vars = vars.With(shop.Vars{"product": it.Product, "pieces": it.Pieces})
			}
			captured, failed := p.step(ctx, o.session, step, vars)
			if failed != nil {
				if o.Vars = o.vars; p.keeper == nil {
					failed.Answer, o.Vars = nil, nil
				}
				p.keepCall(o, *failed)
				return ctx.Err()
			}
			o.vars = o.vars.With(captured)
		}
	}
	rendered, err := p.f.Order.Render(p.f.Target, o.vars)
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	o.Request, err = o.session.Wire(rendered)
	return err
}

// step does one step of a buyer or a reset, and returns its captures, or the call that failed.
func (p *phase) step(
	ctx context.Context, session *send.Session, s *shop.Step, vars shop.Vars,
) (captured shop.Vars, failed *Call) {
	call := &Call{Kind: Buyer, Reading: shop.Reading{Means: shop.Unknown}}
	fail := func(err error) (shop.Vars, *Call) {
		call.Failure, call.Unsent = err.Error(), true
		return nil, call
	}
	r := &s.Request
	if r.Target() == "" {
		captured, err := p.inside(ctx, s, vars)
		if err != nil {
			return fail(err)
		}
		return captured, nil
	}
	rendered, err := r.Render(p.f.Target, vars)
	if err != nil {
		return fail(err)
	}
	a, err := session.Do(ctx, rendered, r.Follow)
	if err != nil {
		return fail(err)
	}
	call.Answer = a
	captured, err = capture(r, a, vars)
	if err == nil && send.Succeeded(r, a) {
		return captured, nil
	}
	call.Status, call.Body, call.Note = a.Status, cut(string(a.Body), bodyShown), rendered.Method+" "+rendered.URL.Path
	if reading := p.f.Read(a, vars); reading.Means == shop.Rejected { // a cart may be refused, too
		call.Reading = reading
		return nil, call
	}
	if send.Succeeded(r, a) {
		return fail(err)
	}
	return nil, call
}

// capture returns the parts of an answer that a request names.
func capture(r *shop.Request, a *shop.Answer, vars shop.Vars) (shop.Vars, error) {
	captured := shop.Vars{}
	for name, c := range r.Capture {
		value, ok := c.From(a, vars)
		if !ok {
			return nil, fmt.Errorf("capture %s: nothing at %s in the answer %d %s%s", name, &c, a.Status,
				cut(string(a.Body), bodyShown), c.Elsewhere(a))
		}
		captured[name] = value
	}
	return captured, nil
}

// rounds is how often the phase goes through its orders: once more, if it repeats some at the end.
func (p *phase) rounds() int64 {
	if p.name == Repeated || p.name == Cancelled || p.name == Killed && p.f.Order.Repeats == "key" {
		return 2
	}
	return 1
}

func (p *phase) progress() (now, total int64) {
	n := int64(p.planned)
	if len(p.f.Buyer) > 0 {
		return min(p.ready.Load(), n) + p.ended.Load(), n + p.rounds()*n
	}
	return p.ended.Load(), p.rounds() * n
}

func (p *phase) line() string {
	if p.ended.Load() == 0 && len(p.f.Buyer) > 0 {
		return fmt.Sprintf("%s: %d of %d buyers are ready", p.name, p.ready.Load(), p.planned)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s: accepted %d  rejected %d  other %d",
		p.name, p.ends[shop.Accepted], p.ends[shop.Rejected], p.ends[shop.Pending]+p.ends[shop.Unknown])
}

// verdict waits until the books are quiet, and judges.
func (p *phase) verdict(ctx context.Context) (*Verdict, error) {
	e := Evidence{
		Stock: p.stock, Moved: p.moved, Reserved: p.reserved, Passing: map[string]bool{}, Deaths: p.deaths, Serves: p.serves,
		Vars: p.vars, Settle: time.Duration(p.f.Settle), Noun: p.f.Noun, Unnamed: !p.f.NamesPieces(), Kills: p.kills,
		Pays: payment(p.f) > 0,
	}
	if p.f.Limit != nil {
		e.Limit = p.f.Limit.Pieces
	}
	for _, o := range p.orders {
		e.Orders = append(e.Orders, &o.Order)
	}
	if last := e.probe(); last != nil && last.end() != shop.Unknown {
		p.serves = true
	}
	p.evidence = &e
	if p.f.Books == nil {
		return e.judge(), nil
	}
	e.Before, e.Sold, e.Void = p.before, p.f.Books.Sold, p.f.Books.Void
	return p.settle(ctx, &e)
}

// Between two reads of the books there is a pause of at least readEvery, and of so many times as long as a read took:
// large books would keep a database busy.
const (
	readEvery  = 200 * time.Millisecond
	pauseTimes = 5
)

// settle judges by the books once two reads found the same and nothing in them is wrong or may change yet, or the last
// of them began after the time to settle. The books still change if two reads after that time found different rows.
func (p *phase) settle(ctx context.Context, e *Evidence) (*Verdict, error) {
	deadline := time.Now().Add(time.Duration(p.f.Settle))
	var judged *Verdict // by the last books
	over := false       // the last read began after the time to settle
	for {
		start, last, wasOver := time.Now(), e.After, over
		now, err := p.reader.Read(ctx, p.vars)
		if err != nil {
			return nil, err
		}
		if now.HasState && len(e.Sold) == 0 {
			return nil, errors.New("the orders have a state: books.sold must say which ones hold their pieces")
		}
		same := last != nil && last.Equal(now)
		over = !start.Before(deadline)
		if !same {
			e.After, judged = now, nil
			e.passed(cmp.Or(last, p.between))
		}
		if judged == nil && (same || wasOver) {
			judged = e.judge()
			p.moved = p.moved || e.moved()
		}
		switch {
		case wasOver && !same:
			e.Unsettled = []string{fmt.Sprintf("the books still change %s after the last answer",
				time.Duration(p.f.Settle))}
			judged.Reasons = append(judged.Reasons, e.Unsettled...)
			judged.Outcome = judged.Outcome.Or(verify.Unknown)
			return judged, nil
		case same && (over || judged.Outcome == verify.Pass || judged.Outcome == verify.Unknown && !e.awaits()):
			return judged, nil
		}
		select {
		case <-time.After(min(max(readEvery, pauseTimes*time.Since(start)), time.Until(deadline))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// passed notes which states orders have left since the last read.
func (e *Evidence) passed(last *books.Books) {
	if last == nil {
		return
	}
	now := map[string]string{}
	for _, row := range e.After.Orders {
		now[row.ID] = row.State
	}
	for _, row := range last.Orders {
		if state, ok := now[row.ID]; ok && e.class(row.State) == open && e.class(state) != open {
			e.Passing[row.State] = true
		}
	}
}
