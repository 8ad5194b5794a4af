// Package batch lets concurrent calls share round trips: the calls that wait while one batch runs form the next.
//
// By default it adds no delay. A call starts a batch at once if none runs, together with the callers that are ready at
// that moment. Under load, calls gather while a batch runs, so that batches grow with the load and the cost of each
// call falls. This is the group commit of databases (DeWitt et al., "Implementation Techniques for Main Memory Database
// Systems", 1984) for any work that costs nearly as much for one call as for many: a transaction, a pipeline, a
// request.
//
// # Guarantees
//
//   - Order: batches take calls in order of arrival.
//   - Bounds: a batch holds at most WithMaxSize calls, the queue at most WithMaxQueue. Beyond that Do returns
//     ErrFull at once.
//   - Cancellation: a caller whose context ends leaves at once. If its call was still queued, the error wraps
//     ErrWithdrawn, and nothing was or will be done for it. If a batch has taken it, Do returns the plain context
//     error, and the outcome is unknown. The other calls of the batch continue.
//   - Isolation: each call has a separate answer. A panic answers the calls of its batch with ErrPanic, and the next
//     batch runs.
//   - Every call is answered: a call that the batch's function leaves unresolved gets ErrUnresolved.
//
// # Two forms
//
// Func is for work that can start at once: a statement, a pipeline. New is for work that needs something first, such as
// a lock: it calls take when it has the lock, and gets all calls that have arrived by then. With WithIdle it can keep
// the lock from batch to batch while calls wait.
//
// # Closed loops
//
// Callers that call again as soon as they are answered fall into cohorts: while the batch of one cohort runs, another
// gathers, and each pays for a batch of half the size. WithGather merges them: a batch waits briefly for the callers
// that the previous one has answered.
//
// With the default concurrency one batch runs at a time, so that state used only by the batch's function needs no lock.
package batch
