package shop

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// checker collects the mistakes of a file.
type checker struct {
	f        *File
	hosts    []string
	mistakes []error
}

func (c *checker) say(at At, format string, args ...any) {
	c.mistakes = append(c.mistakes, mistake(at, format, args...))
}

func (c *checker) file() {
	f := c.f
	if f.Target == "" {
		c.say(f.At, "target is missing: the address of the service, such as http://127.0.0.1:8080")
	} else {
		c.address(f.At, "target", f.Target)
	}
	if len(f.Stock) == 0 {
		c.say(f.At, `stock is missing: the pieces of each product before the first order, such as {"1": 100}`)
	}
	known := names{"run": true, "phase": true, "serial": true}
	for i := range f.Reset {
		c.step(&f.Reset[i], known, "reset")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Stock)) {
		c.vars(f.At, known, name)
	}
	if f.Books != nil {
		c.books(f.Books, known)
	}
	known = known.with("key", "uuid", "n", "i")
	if f.Limit != nil {
		known = known.with("buyer")
		c.limit(f.Limit)
	}
	c.order(known)
	c.answers(known)
	if f.Service != nil {
		c.service(f.Service)
	}
}

func (c *checker) limit(l *Limit) {
	if l.Per != "buyer" || l.Pieces <= 0 {
		c.say(l.At, "limit: want {per: buyer, pieces: 1}")
	}
	uses := c.orderNames("buyer")
	for i := range c.f.Buyer {
		s := &c.f.Buyer[i]
		found, _ := holes(append(s.texts(), s.Command, strings.Join(s.SQL, "")))
		uses = uses || slices.Contains(found, "buyer")
	}
	if !uses {
		c.say(l.At, "limit: neither the order nor a step of buyer holds {{buyer}}: how does the shop know whose order it is?")
	}
}

// names are the variables that have values at a place in the file.
type names map[string]bool

func (n names) with(more ...string) names {
	both := maps.Clone(n)
	for _, name := range more {
		both[name] = true
	}
	return both
}

// vars says which variables of texts have no value.
func (c *checker) vars(at At, known names, in ...any) {
	found, kinds := holes(in)
	for i, name := range found {
		if kind := kinds[i]; kind != "" && kind != "number" && kind != "string" {
			c.say(at, "{{%s|%s}}: want number or string after the bar", name, kind)
		}
		variable, env := strings.CutPrefix(name, "env.")
		if _, set := os.LookupEnv(variable); env && set || known[name] {
			continue
		}
		if env {
			c.say(at, "{{%s}}: the environment variable %s is not set", name, variable)
			continue
		}
		c.say(at, "{{%s}} has no value here; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
}

// eachOf names the repetition that a step of a part of the file can have.
var eachOf = map[string]string{"reset": "stock", "buyer": "item"}

// step checks a step of a part of the file, and adds the names that it captures.
func (c *checker) step(s *Step, known names, part string) {
	request := s.Target() != ""
	kinds := 0
	for _, is := range []bool{request, len(s.SQL) > 0, s.Command != "", s.Restart} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1 || s.Restart && part != "reset":
		c.say(s.At, "a step of %s is one of a request, sql and command%s", part,
			map[string]string{"reset": ", or restart: true"}[part])
		return
	case part != "then" && part != "cancel" && (len(s.Answers) > 0 || s.Poll):
		c.say(s.At, "answers and poll belong to a step of then, or to cancel")
	case s.Poll && (len(s.Answers) == 0 || !request || part == "cancel"):
		c.say(s.At, "poll repeats a request of then until it is answered: answers must say which answers end it")
	}
	switch {
	case request:
		c.request(&s.Request, known, eachOf[part])
	case len(s.SQL) > 0:
		for _, statement := range s.SQL {
			c.vars(s.At, known, statement)
		}
		if s.DSN == "" && (c.f.Books == nil || c.f.Books.DSN == "") {
			c.say(s.At, "sql needs a dsn, here or under books")
		}
		c.dsn(s.At, s.DSN)
	case s.Restart && c.f.Service == nil:
		c.say(s.At, "restart needs service")
	}
	c.vars(s.At, known, s.Command)
	c.captures(&s.Request, known)
}

// captures adds the names that a request captures.
func (c *checker) captures(r *Request, known names) {
	for name, capture := range r.Capture {
		c.vars(r.At, known, capture.Text)
		known[name] = true
	}
}

// then checks the steps after the order, and the one that cancels it.
func (c *checker) then(known names) {
	known = known.with(OrderID)
	c.captures(&c.f.Order.Request, known)
	if len(c.f.Order.Capture) > 0 && len(c.f.Then) == 0 && c.f.Cancel == nil {
		c.say(c.f.Order.At, "the order captures nothing without then or cancel; order: under answers finds its id")
	}
	for i := range c.f.Then {
		c.step(&c.f.Then[i], known, "then")
		c.rules(c.f.Then[i].Answers, known, false)
	}
	if s := c.f.Cancel; s != nil {
		c.step(s, known, "cancel")
		for i := range s.Answers {
			if r := &s.Answers[i]; r.Means != Cancelled && r.Means != Unknown {
				c.say(r.At, "an answer to cancel means cancelled or unknown")
			}
		}
	}
}

// request checks a request and adds the names that it captures.
func (c *checker) request(r *Request, known names, each string) {
	methods, bodies := 0, 0
	for _, path := range []string{r.Get, r.Post, r.Put, r.Patch, r.Delete, r.URL} {
		if path != "" {
			methods++
		}
	}
	for _, is := range []bool{r.JSON != nil, r.Form != nil, r.Multipart != nil, r.Body != ""} {
		if is {
			bodies++
		}
	}
	switch target := r.Target(); {
	case methods != 1:
		c.say(r.At, "a request has one of get, post, put, patch, delete and url")
		return
	case strings.Contains(target, "://"):
		c.address(r.At, "the request", target)
	case !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "{{"):
		c.say(r.At, "path %q: want one that begins with /, or an address", target)
	}
	if bodies > 1 {
		c.say(r.At, "a request has one of json, form, multipart and body")
	}
	if r.Each != "" && r.Each != each {
		c.say(r.At, "each: %s: %s", r.Each, map[string]string{
			"stock": "in reset, want stock", "item": "in buyer, want item", "": "the request is sent once for each order",
		}[each])
	}
	here := known
	if r.Each != "" {
		here = known.with("product", "pieces")
	}
	c.vars(r.At, here, r.texts()...)
}

func (c *checker) order(known names) {
	f := c.f
	if f.Order.At == (At{}) {
		c.say(f.At, "order is missing: the request that orders")
		return
	}
	single := c.baskets(known)
	if single {
		known = known.with("product", "pieces")
	}
	if f.Order.Item != nil {
		c.vars(f.Order.At, known.with("product", "pieces"), f.Order.Item)
		known = known.with("items")
	}
	for i := range f.Buyer {
		c.step(&f.Buyer[i], known, "buyer")
	}
	c.request(&f.Order.Request, known, "")
	c.then(known)
	switch f.Order.Repeats {
	case "key", "none":
	case "":
		c.say(f.Order.At, "order.repeats is missing: key, if a repeat of the same bytes is the same order; else none")
	default:
		c.say(f.Order.At, "order.repeats %q: want key or none", f.Order.Repeats)
	}
	if f.Order.Repeats == "key" && len(f.Buyer) == 0 && !c.orderNames("key", "uuid", "n") {
		c.say(f.Order.At, "order.repeats is key, but the order holds none of {{key}}, {{uuid}} and {{n}}: "+
			"all orders would be the same")
	}
}

// orderNames reports whether the order holds one of the variables.
func (c *checker) orderNames(wanted ...string) bool {
	found, _ := holes(c.f.Order.texts())
	return slices.ContainsFunc(found, func(name string) bool { return slices.Contains(wanted, name) })
}

// baskets checks the baskets, sets their default, and reports whether each has one product.
func (c *checker) baskets(known names) (single bool) {
	o := &c.f.Order
	if len(o.Baskets) == 0 {
		if len(c.f.Stock) > 1 {
			c.say(o.At, `the stock has several products: order.baskets must say what an order buys, such as [{"1": 2}]`)
		}
		for name := range c.f.Stock {
			o.Baskets = []map[string]Pieces{{name: Whole}}
		}
		return true
	}
	single = true
	for _, basket := range o.Baskets {
		single = single && len(basket) == 1
		if len(basket) == 0 {
			c.say(o.At, "a basket is empty")
		}
		for name := range basket {
			if _, ok := c.f.Stock[name]; !ok {
				c.say(o.At, "order.baskets has product %q, and stock does not", name)
			}
			c.vars(o.At, known, name)
		}
	}
	return single
}

// otherwise are statuses that say something else than "sold out" in most services.
var otherwise = map[int]string{
	401: "a login that failed", 403: "a login that failed", 404: "a wrong path", 405: "a wrong method",
	422: "a wrong body", 400: "a wrong body", 429: "a limit of requests",
}

func (c *checker) answers(known names) {
	if len(c.f.Answers) == 0 {
		c.say(c.f.At, "answers is missing: what the answers to the order mean")
	}
	c.rules(c.f.Answers, known, true)
	placed := func(r Rule) bool { return r.Means == Accepted || r.Means == Pending }
	if len(c.f.Answers) > 0 && !slices.ContainsFunc(c.f.Answers, placed) {
		c.say(c.f.Answers[0].At, "no answer means accepted")
	}
}

// rules checks answers: to the order, or to a step after it, when the order's id is known.
func (c *checker) rules(rules []Rule, known names, order bool) {
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Means == Cancelled:
			c.say(r.At, "only an answer to cancel means cancelled")
		case r.Means == "":
			c.say(r.At, "means is missing: accepted, rejected, pending or unknown")
		case len(r.Status) == 0 && !r.says():
			c.say(r.At, "the answer has no condition: status, contains, matches, headers, or a path such as $.status")
		case r.Means == Accepted && r.Order == nil && order:
			c.say(r.At, "an accepted answer needs the order's id: order: $.id, or {header: Location, regexp: …}")
		case r.Means == Accepted && r.Order != nil && r.Order.Text != "" && !r.says() &&
			slices.Contains(r.Status, http.StatusOK):
			c.say(r.At, "status 200 may also be any page, and the order's id is not in the answer: "+
				"add contains: or another condition that only a placed order fulfils")
		}
		if r.Means == Rejected && !r.says() {
			c.rejected(r)
		}
		if r.Order != nil {
			c.vars(r.At, known, r.Order.Text)
		}
	}
}

// rejected refuses statuses that do not say "sold out" by themselves.
func (c *checker) rejected(r *Rule) {
	for _, status := range r.Status {
		if status >= 500 {
			c.say(r.At, "status %d is no rejection by itself, as the order may have been placed: "+
				"add contains: with the text that says so", status)
		} else if also := otherwise[status]; also != "" {
			c.say(r.At, "status %d may also be %s: add contains: with the text that says sold out", status, also)
		}
	}
}

func (c *checker) books(b *Books, known names) {
	if b.Stock == nil && b.Orders == nil {
		c.say(b.At, "books has neither stock nor orders")
	}
	c.dsn(b.At, b.DSN)
	for name, q := range map[string]*Query{"stock": b.Stock, "orders": b.Orders, "deductions": b.Deductions} {
		if q == nil {
			continue
		}
		own := q.DSN
		if q.DSN == "" && q.Command == "" {
			q.DSN, q.Command = b.DSN, b.Command
		}
		switch {
		case strings.TrimSpace(q.Query) == "" && q.Command == "":
			c.say(q.At, "books.%s has no query", name)
		case (q.DSN == "") == (q.Command == ""):
			c.say(q.At, "books.%s needs one of dsn and command, here or under books", name)
		default:
			c.dsn(q.At, own)
		}
		c.vars(q.At, known, q.Query, q.Command)
	}
	if b.Deductions != nil && b.Orders == nil {
		c.say(b.Deductions.At, "books.deductions needs books.orders")
	}
	for _, state := range b.Void {
		if slices.Contains(b.Sold, state) {
			c.say(b.At, "state %s is both in sold and in void", ShowState(state))
		}
	}
}

func (c *checker) service(s *Service) {
	ways := 0
	for _, is := range []bool{s.Container != "", s.Start != ""} {
		if is {
			ways++
		}
	}
	if ways != 1 || s.Kill != "" && s.Start == "" {
		c.say(s.At, "service has one of start and container; kill needs start")
	}
	if s.Ready != "" && !strings.HasPrefix(s.Ready, "/") {
		c.say(s.At, "service.ready %q: want a path that begins with /", s.Ready)
	}
}

// address says whether an address cannot be used, or is not on this machine.
func (c *checker) address(at At, what, text string) {
	expanded, err := Vars{}.Text(text)
	if err != nil { // it has a variable that is not known yet; the host is checked when the request is sent
		return
	}
	u, err := url.Parse(expanded)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		c.say(at, "%s %q: want http://host:port or https://host:port", what, text)
		return
	}
	c.host(at, what, u.Hostname())
}

func (c *checker) host(at At, what, host string) {
	if !Allowed(host, c.hosts) {
		c.say(at, "%s is at %s, which is not this machine; to judge it all the same, give --host %s", what, host, host)
	}
}

// Allowed reports whether a host is this machine or one of hosts.
func Allowed(host string, hosts []string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(hosts, host)
}

// SQLite begins the address of a database that is a file, whose path follows.
const SQLite = "sqlite:"

// schemes begin the addresses of databases on a server.
var schemes = []string{"postgres", "postgresql", "mysql", "mariadb", "redis", "rediss"}

// dsn says whether a database's address cannot be read, or is not on this machine.
func (c *checker) dsn(at At, text string) {
	c.vars(at, names{}, text)
	expanded, err := Vars{}.Text(text)
	if err != nil || expanded == "" {
		return
	}
	if strings.HasPrefix(expanded, SQLite) {
		return
	}
	if u, err := url.Parse(expanded); strings.Contains(expanded, "://") {
		_, rest, _ := strings.Cut(expanded, "://")
		end := strings.IndexAny(rest, "/?#")
		switch {
		case strings.Contains(rest, "@") && (err != nil || end >= 0 && strings.Contains(rest[end:], "@") && u.User == nil):
			c.say(at, "dsn: a password with /, ?, #, @ or %% is written escaped, such as %%40 for @, %%2F for / and %%25 for %%")
		case err != nil:
			c.say(at, "dsn: want postgres://user:password@host/name, mysql://user:password@host/name or redis://host/number")
		case !slices.Contains(schemes, u.Scheme):
			c.say(at, "dsn: a database of %s can be read by command:, not by dsn:", u.Scheme)
		case u.Host != "":
			c.host(at, "the database", u.Hostname())
		}
		return
	}
	cfg, err := mysql.ParseDSN(expanded)
	if err != nil {
		c.say(at, "dsn: want postgres://…, mysql://…, redis://…, sqlite:PATH or user:password@tcp(host:port)/name")
		return
	}
	if host, _, err := net.SplitHostPort(cfg.Addr); err == nil && cfg.Net == "tcp" {
		c.host(at, "the database", host)
	}
}

// ShowState returns a state as it is shown.
func ShowState(state string) string {
	if state == Null {
		return "NULL"
	}
	return state
}
