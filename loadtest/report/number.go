package report

import (
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
