// Package compared holds the deduction strategies that are kept only for comparison with package deduct's. All but
// unsafe are correct, because the transaction of package stockdb is. Package strategy describes each.
package compared
