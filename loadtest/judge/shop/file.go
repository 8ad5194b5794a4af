// Package shop reads the file that describes a shop: its address, its stock, the request that orders, the meaning of
// its answers, and the queries that read its books. Errors name the line and the column. schema.json describes the file
// for editors.
package shop

import (
	_ "embed"
	"strings"
	"time"
)

// Schema is the JSON Schema of the file.
//
//go:embed schema.json
var Schema []byte

// File is a shop in the words of its user. Load returns it checked.
type File struct {
	At At `yaml:"-"`
	// Target is the address of the service, "http://host:port" or "https://host:port".
	Target string `yaml:"target"`
	// Insecure accepts any certificate.
	Insecure bool `yaml:"insecure"`
	// HTTP2 sends all requests by HTTP/2, over http:// without an upgrade. Without it, they are sent by HTTP/1.1 unless
	// the server of an https:// address refuses that.
	HTTP2 bool `yaml:"http2"`
	// Stock holds the pieces of each product before the first order of a phase. Names may hold variables.
	Stock map[string]Pieces `yaml:"stock"`
	// Noun is the word for a product in the output, such as "coupon". Default: product.
	Noun string `yaml:"noun"`
	// Limit, if not nil, bounds the pieces of one buyer.
	Limit *Limit `yaml:"limit"`
	// Reset brings the stock there before each phase.
	Reset []Step `yaml:"reset"`
	// Buyer runs once for each order, before the orders of a phase.
	Buyer []Step `yaml:"buyer"`
	Order Order  `yaml:"order"`
	// Then runs after the order, once for each one that is accepted or pending.
	Then []Step `yaml:"then"`
	// Cancel, if not nil, cancels an order.
	Cancel *Step `yaml:"cancel"`
	// Answers are tried in their order; the first match counts.
	Answers []Rule `yaml:"answers"`
	// Books, if not nil, says how to read the databases.
	Books *Books `yaml:"books"`
	// Service, if not nil, says how to kill and start the service.
	Service *Service `yaml:"service"`
	// Settle bounds the wait for orders that are neither sold nor void. Default 10 s.
	Settle Duration `yaml:"settle"`
	// Timeout bounds each call, and the first connection to a database. Default 15 s.
	Timeout Duration `yaml:"timeout"`

	// Dir is the folder of the file, where commands run.
	Dir string `yaml:"-"`
	// Text is the file as it is written.
	Text []byte `yaml:"-"`
}

// Request is an HTTP request with variables. Exactly one of the methods, or URL, is set.
type Request struct {
	At     At     `yaml:"-"`
	Get    string `yaml:"get"`
	Post   string `yaml:"post"`
	Put    string `yaml:"put"`
	Patch  string `yaml:"patch"`
	Delete string `yaml:"delete"`
	// URL is a path or an address, and Method its method, GET by default.
	URL     string `yaml:"url"`
	Method  string `yaml:"method"`
	Headers Table  `yaml:"headers"`
	// JSON, Form, Multipart, which is a form with parts, or Body is the body.
	JSON      any    `yaml:"json"`
	Form      Form   `yaml:"form"`
	Multipart Form   `yaml:"multipart"`
	Body      string `yaml:"body"`
	// Capture gives names to parts of the answer.
	Capture map[string]Capture `yaml:"capture"`
	// Follow follows redirects.
	Follow bool `yaml:"follow"`
	// Each repeats the request: "item" for each item of the order, "stock" for each product in stock.
	Each string `yaml:"each"`
	// Expect lists the statuses of success. Default: all below 400.
	Expect Numbers `yaml:"expect"`
}

// Order is the request that orders.
type Order struct {
	Request `yaml:",inline"`
	// Repeats is "key" if a repeat with the same bytes is the same order, "none" if it is a second one.
	Repeats string `yaml:"repeats"`
	// Baskets are what an order may buy; each order draws one. Default: one piece of the only product.
	Baskets []map[string]Pieces `yaml:"baskets"`
	// Item is what the variable items holds for each item of the basket.
	Item any `yaml:"item"`
}

// Step is a step of a reset, a buyer, or after an order: a request, statements of SQL, a command, or, in a reset, a
// restart of the service.
type Step struct {
	Request `yaml:",inline"`
	SQL     Texts  `yaml:"sql"`
	DSN     string `yaml:"dsn"`
	Command string `yaml:"command"`
	Restart bool   `yaml:"restart"`
	// Answers give an answer to a step after the order its meaning for the order.
	Answers []Rule `yaml:"answers"`
	// Poll repeats a request after the order until its answer means accepted or rejected, for at most the time to settle.
	Poll bool `yaml:"poll"`
}

// Books holds the queries that read the databases. DSN or Command serves the queries without one.
type Books struct {
	At      At     `yaml:"-"`
	DSN     string `yaml:"dsn"`
	Command string `yaml:"command"`
	// Stock has the columns product and pieces.
	Stock *Query `yaml:"stock"`
	// Orders has the columns id, product, pieces, and optionally key, state and buyer: a row for each item.
	Orders *Query `yaml:"orders"`
	// Deductions has the columns order_id, product and pieces.
	Deductions *Query `yaml:"deductions"`
	// Sold are the states of orders that hold their pieces for good, and Void those that hold none.
	Sold Texts `yaml:"sold"`
	Void Texts `yaml:"void"`
}

// Limit bounds the pieces of one buyer, in all products. Several orders then have the same buyer, {{buyer}}.
type Limit struct {
	At At `yaml:"-"`
	// Per is "buyer".
	Per    string `yaml:"per"`
	Pieces Pieces `yaml:"pieces"`
}

// Query is a query and where to ask it.
type Query struct {
	At      At     `yaml:"-"`
	DSN     string `yaml:"dsn"`
	Command string `yaml:"command"`
	Query   string `yaml:"query"`
}

// Text returns the query, and where it is asked.
func (q Query) Text() string { return strings.Join([]string{q.DSN, q.Command, q.Query}, "\n") }

// Queries returns the queries of the books by their names.
func (f *File) Queries() map[string]Query {
	queries := map[string]Query{}
	if f.Books == nil {
		return queries
	}
	for name, q := range map[string]*Query{
		"stock": f.Books.Stock, "orders": f.Books.Orders, "deductions": f.Books.Deductions,
	} {
		if q != nil {
			queries[name] = *q
		}
	}
	return queries
}

// Service says how the service is killed and started.
type Service struct {
	At At `yaml:"-"`
	// Start is a command that is the service, or, with Kill, one that starts it and ends.
	Start string `yaml:"start"`
	// Kill is a command that kills a service which the judge does not start.
	Kill string `yaml:"kill"`
	// Container is the name of a container.
	Container string `yaml:"container"`
	// Ready is a path that is answered below 400 once the service is ready. Default: any answer to "/".
	Ready string `yaml:"ready"`
	// Within bounds the wait for it. Default 60 s.
	Within Duration `yaml:"within"`
}

// Means is the meaning of an answer.
type Means string

const (
	// Accepted: the order is placed.
	Accepted Means = "accepted"
	// Rejected: there is no such order, since the stock is short.
	Rejected Means = "rejected"
	// Pending: the order may become either.
	Pending Means = "pending"
	// Unknown: the answer says nothing about the order. It is the meaning of an answer that no rule matches.
	Unknown Means = "unknown"
	// Cancelled: there is no such order any more. It is the meaning of a success of File.Cancel.
	Cancelled Means = "cancelled"
)

// Rule gives a meaning to the answers that fulfil all its conditions.
type Rule struct {
	At     At
	Status Numbers
	// JSON are the conditions on parts of a JSON body, by path.
	JSON []Condition
	// Contains are texts of which the body holds one, in any case.
	Contains Texts
	// Matches is a regular expression for the body, Headers are ones for headers.
	Matches *Pattern
	Headers map[string]*Pattern
	Means   Means
	// Order says where the order's id is.
	Order *Capture
}

// Defaults of a file.
const (
	defaultSettle  = Duration(10 * time.Second)
	defaultTimeout = Duration(15 * time.Second)
	defaultWithin  = Duration(time.Minute)
)
