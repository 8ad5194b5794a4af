// Package compared holds the strategies of deduction that are there only to be
// compared with those of package deduct. All but unsafe are correct, as the
// transaction of package stockdb is. Package strategy says what each does.
package compared
