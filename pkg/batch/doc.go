// Package batch lets concurrent calls share round trips: what waits while
// one batch is on its way goes out together as the next.
//
// By default it adds no delay. A call that finds nobody being served starts a batch of
// its own at once, together with those callers who are ready to run just then; under load,
// the time that one batch takes gathers the next, so the batches grow with the load and the
// cost of each call falls.
// This is the group commit of databases (DeWitt et al., "Implementation
// Techniques for Main Memory Database Systems", 1984) for any work that costs
// nearly the same for many as for one: a transaction, a pipeline, a request.
//
// # What a caller can rely on
//
//   - Order: batches take calls first come, first served; no call is passed over.
//   - Bounds: a batch holds at most WithMaxSize calls, the queue at most
//     WithMaxQueue; past that Do answers ErrFull at once, so that load is shed
//     and not hoarded.
//   - Cancellation: a caller whose context ends leaves at once. If its call was
//     still queued, the error wraps ErrWithdrawn, and nothing was or will be
//     done. If a batch had it, the plain context error says that the outcome is
//     unknown. The others of the batch notice nothing.
//   - Isolation: each call has an answer of its own. A panic while a batch runs
//     answers its calls with ErrPanic, and the next batch goes on.
//   - Every call is answered: one that the batch's function forgot gets
//     ErrUnresolved.
//
// # Two forms
//
// Batch is for work that can start at once: a multi-row insert, a Redis
// pipeline. New hands the function a take that it calls when it is ready: the
// holder-to-be of a lock acquires it first, then takes everyone who came while
// it waited. With WithIdle it may keep the lock from batch to batch while calls wait, and is told
// when none does.
//
// # Closed loops
//
// Callers that come back as soon as they are answered fall into cohorts: while the batch of one is
// on its way, another gathers, and each pays for a batch of half the size. WithGather merges them:
// a batch waits a moment for those whom the one before has answered.
//
// The function of a group may run many times at once if WithConcurrency says
// so; with the default, one batch at a time, and no locking is needed for what
// only the function touches.
package batch
