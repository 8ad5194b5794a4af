// Package compared holds the strategies of deduction that are kept only for
// comparison with those of package deduct. All but unsafe and redis-prededuct are
// correct, as the transaction of package stockdb is. Package strategy says what each
// does.
package compared
