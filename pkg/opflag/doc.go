// Package opflag keeps operation flags in Redis. The order service sets a flag before it calls the stock service, and
// the first attempt that arrives there takes it.
//
// A flag is a hint. An attempt that takes it is the first, and need not look the operation up in MySQL. An attempt that
// does not take it knows nothing, and must look it up. So Redis alone never refuses an operation and never allows one,
// and every failure of Redis means "not taken". If Redis is down or hangs, the first calls wait for a bounded time;
// then a circuit breaker opens.
//
// Concurrent calls share round trips as one pipeline.
package opflag
