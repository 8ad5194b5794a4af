// Package deduct holds the strategies of deduction that a stock service is run
// with: grouped, grouped-rows, sequential and conditional-update. A strategy keeps concurrent
// operations on the same products apart, and so decides who waits for whom. The
// transaction of package stockdb alone makes a deduction correct.
//
// Package compared holds the strategies that are kept for comparison with these.
// Package strategy lists all of them, and says what each does.
package deduct
