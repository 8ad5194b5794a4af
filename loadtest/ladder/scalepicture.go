package ladder

import (
	"cmp"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
)

// Draw writes the ratios to one holder into an SVG file: a line for each delay and size of groups, over the holders.
func (s Scale) Draw(file string) error {
	const width, height, left, top, right = 620.0, 300.0, 60.0, 70.0, 190.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", left+width+right, top+height+50)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+
		`<text x="%.0f" y="26" font-size="17" font-weight="bold" fill="#222">`+
		`Deductions by lock holders, relative to one holder</text>`+"\n", left)
	fmt.Fprintf(&b, `<text x="%.0f" y="46" fill="#555">%s</text>`+"\n",
		left, html.EscapeString(s.Server+" · "+s.Machine+" · "+s.Date))
	most, highest := 1, 1.0
	type series struct {
		group int
		delay float64
	}
	var lines []series
	groups := map[int]bool{}
	for _, r := range s.AllRows() {
		most, highest, groups[r.Group] = max(most, r.Holders), max(highest, r.Ratio+r.Error), true
		if of := (series{r.Group, r.DelayMS}); len(lines) == 0 || lines[len(lines)-1] != of {
			lines = append(lines, of)
		}
	}
	xOf := func(holders int) float64 { return left + float64(holders)/float64(most)*width }
	yOf := func(ratio float64) float64 { return top + height - ratio/highest*height }
	for ratio := 0.0; ratio <= highest; ratio++ {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`+
			`<text x="%.1f" y="%.1f" text-anchor="end" fill="#555">%.0f</text>`+"\n",
			left, yOf(ratio), left+width, yOf(ratio), left-8, yOf(ratio)+4, ratio)
	}
	type label struct {
		y            float64
		colour, text string
	}
	var labels []label
	for i, of := range lines {
		delays := len(lines) / len(groups) // each group was measured with all of them
		colour, dashes := colours[i%delays%len(colours)], ""
		if i >= delays {
			dashes = ` stroke-dasharray="6 4"`
		}
		var line []string
		var last ScaleRow
		for _, r := range s.AllRows() {
			if (series{r.Group, r.DelayMS}) != of {
				continue
			}
			x, y := xOf(r.Holders), yOf(r.Ratio)
			line, last = append(line, fmt.Sprintf("%.1f,%.1f", x, y)), r
			fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+
				`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`,
				x, yOf(r.Ratio-r.Error), x, yOf(r.Ratio+r.Error), colour, x, y, colour)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%d</text>`+"\n",
				x, top+height+18, r.Holders)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
			strings.Join(line, " "), colour, dashes)
		labels = append(labels, label{
			yOf(last.Ratio) + 4, colour, fmt.Sprintf("commits of %g ms, groups of %d", of.delay, of.group),
		})
	}
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := range labels {
		l := &labels[i]
		if i > 0 {
			l.y = max(l.y, labels[i-1].y+14) // they do not overlap
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s" font-size="11">%s</text>`+"\n",
			left+width+8, l.y, l.colour, l.text)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">holders</text></svg>`+"\n",
		left+width/2, top+height+38)
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("draw the holders: %w", err)
	}
	return nil
}
