// Package linear checks that a small history of orders is linearizable: there is one sequence of all deductions,
// restores and readings of the stock, each taking effect at one moment between its call and its return, where
//
//   - a deduction that was DONE found enough of every item,
//   - a deduction that was REJECTED found too little of at least one item (nobody was refused while there was enough),
//   - a restore followed its deduction, and
//   - every reading saw the levels of its moment.
//
// A call whose answer was lost may have taken effect at any time until the end of the history. Whether it did at all is
// read from the database, so the checker never has to guess both.
//
// The search is porcupine's (Wing and Gong's algorithm with Lowe's memoization). It is exponential in the number of
// calls in flight, so keep to a few products, a thousand calls and some tens of clients.
package linear
