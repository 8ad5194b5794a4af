// Package order is the domain of the order service: orders and their life, and
// the use cases that drive each of them to an end, exactly once.
//
// An order is written PENDING before anything is deducted for it, and changes
// by guarded steps only:
//
//	PENDING ──► CONFIRMED ──► CANCELLING ──► CANCELLED
//	   ├──────► REJECTED          ▲
//	   ├──────────────────────────┘
//	   └──────► CANCELLED
//
// What ends it is what the stock service has recorded under the order's
// operation flag, which is the order id; a lost or late reply decides nothing.
// Place waits for that record for a while and no longer; what it leaves
// unsettled, in this process or in one that died, the Reconciler ends.
//
// Adapters: orderdb keeps the orders in MySQL, stockclient calls the stock
// service, orderhttp serves it all over HTTP.
package order
