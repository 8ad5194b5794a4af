// Package console serves a page that shows the stack while it works and while it is broken: the path of an order, rates
// and latencies, the books, the queue for the lock, and the verdict.
//
// A Console watches a Stack. If it owns the stack (Lab), it can also play the published faults, broken and fixed, and
// break replicas, servers and links. If it is only attached (Attach), it explains why it cannot.
//
// It receives the spans of the services and of the load tester by OTLP over HTTP, keeps the latest traces, and joins
// the spans of one order.
//
// All figures are read from the servers, from the services or from the calls of the load tester in this process.
// Nothing is simulated.
//
// The page uses the HTTP API of Server only. GET /api/events streams the state, GET /api/state is a snapshot of it;
// POST /api/play, /api/fire, /api/stop, /api/act and /api/heal change it.
package console
