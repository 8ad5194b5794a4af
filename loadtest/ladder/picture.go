package ladder

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The picture's geometry, in SVG user units.
const (
	panelWidth, panelHeight = 430.0, 260.0
	marginLeft, marginTop   = 62.0, 64.0
	labelWidth, gapY        = 145.0, 74.0
	titleHeight             = 46.0
)

// lineHeight is the height of a row in the block of survivals.
const lineHeight = 18.0

// colours are Okabe and Ito's palette, which colour-blind readers can distinguish.
var colours = []string{"#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"}

// Draw writes the picture into the file.
func (r *Result) Draw(file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("draw the ladder: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return r.Picture(out)
}

// Picture writes the run as an SVG: for each path a row of two panels,
// throughput by clients and p99 latency by clients, both on log scales, with a
// line for each strategy, for one hot product and one replica.
func (r *Result) Picture(w io.Writer) error {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return row.Goods != 1 || row.Replicas != 1 || row.SellOut
	})
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Clients, b.Clients) })
	paths := distinct(rows, func(row Row) string { return row.Path })
	strategies := distinct(r.Rows, func(row Row) string { return row.Strategy })

	width := 2 * (marginLeft + panelWidth + labelWidth)
	panels := titleHeight + float64(len(paths))*(marginTop+panelHeight+gapY)
	height := panels
	if len(r.Survival) > 0 {
		height += float64(len(strategies)+4) * lineHeight
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%.0f" y="28" font-size="17" font-weight="bold" fill="#222">`+
		`One hot product: sales of each strategy, and waiting time of a buyer</text>`+"\n", marginLeft)
	facts := slices.DeleteFunc([]string{r.Server, r.Machine, r.Date}, func(s string) bool { return s == "" })
	fmt.Fprintf(&b, `<text x="%.0f" y="46" fill="#555">%s</text>`+"\n",
		marginLeft, html.EscapeString(strings.Join(facts, " · ")))
	for i, path := range paths {
		top := titleHeight + float64(i)*(marginTop+panelHeight+gapY) + marginTop
		what := map[string]string{PathDeduct: "the deduction call alone", PathOrder: "whole orders"}[path]
		ofPath := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return row.Path != path })
		panel{
			x: marginLeft, y: top, title: what + ": sales per second",
			value: func(row Row) float64 { return row.DonePerS },
		}.draw(&b, ofPath, strategies)
		panel{
			x: marginLeft + panelWidth + labelWidth + marginLeft, y: top, title: what + ": p99 latency, ms",
			value: func(row Row) float64 { return row.P99MS },
		}.draw(&b, ofPath, strategies)
	}
	r.drawSurvival(&b, panels+lineHeight, strategies)
	b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// style returns the colour of the i-th strategy and the dashes of its line. Lines are broken if the colours repeat.
func style(i int) (colour, dash string) {
	if i/len(colours)%2 == 1 {
		dash = ` stroke-dasharray="6 3"`
	}
	return colours[i%len(colours)], dash
}

// drawSurvival writes for each strategy whether it kept its deductions under each fault.
func (r *Result) drawSurvival(b *strings.Builder, y float64, strategies []string) {
	if len(r.Survival) == 0 {
		return
	}
	text := func(x, y float64, attributes, text string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
	}
	column := func(i int) float64 { return marginLeft + 190 + float64(i)*300 }
	text(marginLeft, y, `font-weight="bold" fill="#222"`, "What survived")
	for i, fault := range []string{"calm", "the service killed and started again", "Redis flushed"} {
		text(column(i), y, `fill="#555"`, fault)
	}
	for i, name := range strategies {
		y += lineHeight
		colour, _ := style(i)
		text(marginLeft, y, `fill="`+colour+`"`, name)
		for i, fault := range Faults {
			kept, fill := r.survived(name, fault), "#222"
			if strings.HasPrefix(kept, broken) {
				fill = "#D55E00"
			}
			text(column(i), y, `fill="`+fill+`"`, kept)
		}
	}
}

// panel is one diagram: clients to the right, value upwards, both logarithmic.
type panel struct {
	x, y  float64
	title string
	value func(Row) float64
}

func (p panel) draw(b *strings.Builder, rows []Row, strategies []string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-weight="bold" fill="#222">%s</text>`+"\n", p.x, p.y-14,
		html.EscapeString(p.title))
	low, high, ok := p.decades(rows)
	if !ok {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="#555">nothing measured</text>`+"\n", p.x, p.y+20)
		return
	}
	clients := distinct(rows, func(row Row) int { return row.Clients })
	xOf := func(c int) float64 {
		first, last := math.Log(float64(clients[0])), math.Log(float64(clients[len(clients)-1]))
		if first == last {
			return p.x + panelWidth/2
		}
		return p.x + (math.Log(float64(c))-first)/(last-first)*panelWidth
	}
	yOf := func(v float64) float64 {
		return p.y + panelHeight - (math.Log10(v)-low)/(high-low)*panelHeight
	}
	for d := low; d <= high; d++ {
		y := yOf(math.Pow(10, d))
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`, p.x, y, p.x+panelWidth, y)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#555">%s</text>`+"\n", p.x-8, y+4,
			strconv.FormatFloat(math.Pow(10, d), 'f', -1, 64))
	}
	for _, c := range clients {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%d</text>`, xOf(c), p.y+panelHeight+18, c)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">clients</text>`+"\n", p.x+panelWidth/2,
		p.y+panelHeight+36)

	type end struct {
		strategy, colour string
		y, labelY        float64
	}
	var ends []end
	for i, s := range strategies {
		colour, dash := style(i)
		var points []string
		var lastY float64
		for _, row := range rows {
			if v := p.value(row); row.Strategy == s && v > 0 {
				lastY = yOf(v)
				points = append(points, fmt.Sprintf("%.1f,%.1f", xOf(row.Clients), lastY))
			}
		}
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
			strings.Join(points, " "), colour, dash)
		for _, at := range points {
			x, y, _ := strings.Cut(at, ",")
			fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`, x, y, colour)
		}
		ends = append(ends, end{strategy: s, colour: colour, y: lastY})
	}
	// Labels are at the ends of the lines, pushed apart if lines end close together.
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	for i := range ends {
		ends[i].labelY = ends[i].y
		if i > 0 {
			ends[i].labelY = max(ends[i].labelY, ends[i-1].labelY+14)
		}
	}
	if n := len(ends); n > 0 {
		if over := ends[n-1].labelY - (p.y + panelHeight + 4); over > 0 {
			for i := range ends {
				ends[i].labelY -= over
			}
		}
	}
	for _, e := range ends {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="0.7"/>`, p.x+panelWidth+4,
			e.y, p.x+panelWidth+14, e.labelY, e.colour)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", p.x+panelWidth+17, e.labelY+4, e.colour,
			html.EscapeString(e.strategy))
	}
}

// decades returns the powers of ten that enclose the panel's values.
func (p panel) decades(rows []Row) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		if v := p.value(row); v > 0 {
			low, high, ok = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v))), true
		}
	}
	if ok && low == high {
		high++
	}
	return low, high, ok
}
