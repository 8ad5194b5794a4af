// Package opflag keeps the operation flag in Redis: set by the order service
// before it calls the stock service, and taken there, once, by the first
// attempt that arrives.
//
// The flag is a hint, first in line before MySQL: who takes it is surely the
// first and need not look the operation up. Who does not take it knows nothing
// and has to ask. So Redis alone never refuses an operation and never allows
// one, and every failure of Redis reads as "not taken". A Redis that is down
// or hangs costs a bounded wait at first, and after a few failures nothing: a
// circuit breaker leaves it alone for a while.
//
// Concurrent calls share round trips as one pipeline.
package opflag
