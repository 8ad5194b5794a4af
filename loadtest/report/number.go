package report

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// English writes numbers that a person reads with commas: 246,780. Ports, seeds and the numbers of orders are names,
// and have none.
var English = message.NewPrinter(language.English)

// PerS writes a number of things each second, with one decimal while it is small, as the page does.
func PerS(rate float64) string {
	if rate < 100 {
		return English.Sprintf("%.1f", rate)
	}
	return English.Sprintf("%.0f", rate)
}

// Many writes a number of things: "1 piece", "1,200 pieces", "2 processes".
func Many[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"):
		thing += "es"
	default:
		thing += "s"
	}
	return English.Sprintf("%d %s", n, thing)
}

// Are is Many with its verb: "1 piece is".
func Are[N int | int64](n N, thing string) string {
	if n == 1 {
		return Many(n, thing) + " is"
	}
	return Many(n, thing) + " are"
}
