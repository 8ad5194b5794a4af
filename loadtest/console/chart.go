package console

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The size of a chart in a report without scripts, and the width of the values at its left.
const chartWidth, chartHeight, chartLeft = 640, 120, 60

// orAbsent returns NaN for a time that is absent from a sample.
func orAbsent(ms float64) float64 {
	if ms == 0 {
		return math.NaN()
	}
	return ms
}

// chart draws two series over time, the second one dashed. A value that is not a number is a gap.
func chart(samples []Sample, first, second string, of func(Sample) (float64, float64)) template.HTML {
	var highest float64
	var last int64
	for _, s := range samples {
		last = max(last, s.TMS)
		a, b := of(s)
		for _, value := range []float64{a, b} {
			if value > highest { // NaN is not
				highest = value
			}
		}
	}
	if highest == 0 || last == 0 {
		return "<p>no sample</p>"
	}
	line := func(value func(Sample) float64) string {
		return pathOf(samples, value,
			func(s Sample) float64 { return chartLeft + float64(s.TMS)/float64(last)*(chartWidth-chartLeft) },
			func(value float64) float64 { return chartHeight - value/highest*chartHeight })
	}
	seconds := float64(last) / 1000
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg viewBox="0 -12 %d %d" width="%d" height="%d" role="img" fill="currentColor" font-size="12"`+
		` aria-label="highest %.0f, over %.1f s">`,
		chartWidth, chartHeight+34, chartWidth, chartHeight+34, highest, seconds)
	for _, share := range []float64{0, 0.5, 1} {
		y := chartHeight - share*chartHeight
		fmt.Fprintf(&svg, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="currentColor" stroke-opacity="0.2"/>`+
			`<text x="%d" y="%.1f" text-anchor="end">%.0f</text>`, chartLeft, y, chartWidth, y, chartLeft-8, y+4, share*highest)
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d" text-anchor="%s">%.1f s</text>`, chartLeft+share*(chartWidth-chartLeft),
			chartHeight+18, map[float64]string{0: "start", 0.5: "middle", 1: "end"}[share], share*seconds)
	}
	fmt.Fprintf(&svg, `<path d="%s" fill="none" stroke="currentColor" stroke-width="2"/>`+
		`<path d="%s" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="4 3"/></svg>`+
		`<figcaption>%s; dashed: %s</figcaption>`,
		line(func(s Sample) float64 { a, _ := of(s); return a }),
		line(func(s Sample) float64 { _, b := of(s); return b }), first, second)
	return template.HTML(svg.String()) // numbers, and this program's words
}

// pathOf returns a line as the path of an SVG, with a gap where the value is not a number. A sample between two gaps is
// a dot.
func pathOf(samples []Sample, value, x func(Sample) float64, y func(float64) float64) string {
	known := func(i int) bool { return i >= 0 && i < len(samples) && !math.IsNaN(value(samples[i])) }
	var path strings.Builder
	for i, s := range samples {
		if !known(i) {
			continue
		}
		at := y(value(s))
		switch before, after := known(i-1), known(i+1); {
		case before:
			fmt.Fprintf(&path, "L%.1f %.1f", x(s), at)
		case after:
			fmt.Fprintf(&path, "M%.1f %.1f", x(s), at)
		default:
			fmt.Fprintf(&path, "M%.1f %.1fh2", x(s)-1, at)
		}
	}
	return path.String()
}
