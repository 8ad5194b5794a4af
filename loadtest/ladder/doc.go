// Package ladder measures the deduction strategies against each other: the
// same servers, one run, the same load, a verdict on every row. Only ratios
// between rows of one run mean anything; the absolute figures are the machine's.
package ladder
