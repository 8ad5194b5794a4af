// Package order is the domain of the order service: orders and their life cycle, and the use cases that drive each of
// them to an outcome, exactly once.
//
// An order is written PENDING before anything is deducted for it, and changes by guarded steps only:
//
//	PENDING ──► CONFIRMED ──► CANCELLING ──► CANCELLED
//	   ├──────► REJECTED          ▲
//	   ├──────────────────────────┘
//	   └──────► CANCELLED
//
// The stock service's record under the order's operation flag, which is the order id, decides the outcome; a lost or
// late reply decides nothing. Place waits for that record for a bounded time. The Reconciler settles the orders that
// Place leaves unsettled, in this process or in one that died.
//
// Adapters: orderdb keeps the orders in MySQL, package stockapi calls the stock service, orderhttp serves the use cases
// over HTTP.
package order
