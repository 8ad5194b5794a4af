package order

import "time"

// storedLimit bounds the read of an order whose client cannot wait longer.
const storedLimit = time.Second

// WorstWait returns the longest time that a client waits for the answer to an order, however the deduction fails: the
// confirm budget, and the read of the order as stored.
//
// Four levels repeat a failing deduction. Each works within the time of the level above it, and under the same flag:
//
//	who                 repeats               how often                               within
//	Reconciler          an unsettled order    once a round, to the CancelAfter        its limit of 5 s for one order
//	stockapi.write      the request           3 tries, a tenth of all calls more      two thirds of ConfirmBudget
//	stockapi.at         one try               once at each replica: if it refuses     STOCK_TIMEOUT, 2 s
//	                                          the connection, or is silent for 0.3 s
//	mysqldb.Transact    the transaction       5 tries, after a deadlock or a change   the try's deadline, or 5 s
//	                                          between a read and its write
//
// A row that another transaction holds is waited for once, for a second: see operation.Held for what follows.
//
// Beside these, the order's own steps repeat one after the other: the read of the outcome with pauses of 20 ms to 1 s,
// and the change of status with pauses of 50 ms to 1 s, both until PendingLimit; the insert 4 times within 5 s; the
// look-up of prices twice.
func (c Config) WorstWait() time.Duration { return c.withDefaults().ConfirmBudget + storedLimit }
