package ladder

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// colours are Okabe and Ito's palette, which colour-blind readers can distinguish.
var colours = []string{"#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"}

// style returns the colour of the i-th line and its dashes. Lines are broken if the colours repeat.
func style(i int) (colour, dash string) {
	if i/len(colours)%2 == 1 {
		dash = ` stroke-dasharray="6 3"`
	}
	return colours[i%len(colours)], dash
}

// drawing is an SVG picture. Lengths are in user units.
type drawing struct{ strings.Builder }

// begin opens the picture, with a title over facts.
func (d *drawing) begin(width, height, left float64, title string, facts ...string) {
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" `+
		`font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(d, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	d.text(left, 28, `font-size="17" font-weight="bold" fill="#222"`, title)
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	d.text(left, 46, `fill="#555"`, strings.Join(facts, " · "))
}

func (d *drawing) end() string {
	d.WriteString("</svg>\n")
	return d.String()
}

func (d *drawing) text(x, y float64, attributes, text string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, attributes string) {
	fmt.Fprintf(d, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x1, y1, x2, y2, attributes)
}

// chart is a diagram of lines, with their names at their ends. Both axes begin at zero, or are logarithmic.
type chart struct {
	x, y, width, height float64
	title, below        string // above the chart, and of the axis below
	log                 bool
	lines               []chartLine
}

// chartLine is one line, by ascending x.
type chartLine struct {
	name   string
	style  int // of function style
	points []chartPoint
}

type chartPoint struct{ x, y, err float64 }

func (c chart) draw(d *drawing) {
	d.text(c.x, c.y-14, `font-weight="bold" fill="#222"`, c.title)
	if c.lines = slices.DeleteFunc(c.lines, func(l chartLine) bool { return len(l.points) == 0 }); len(c.lines) == 0 {
		d.text(c.x, c.y+20, `fill="#555"`, "nothing measured")
		return
	}
	across, up, values := c.scales()
	for _, v := range values {
		d.line(c.x, up(v), c.x+c.width, up(v), `stroke="#ddd"`)
		d.text(c.x-8, up(v)+4, `text-anchor="end" fill="#555"`, strconv.FormatFloat(v, 'f', -1, 64))
	}
	ticks := map[float64]bool{}
	for _, l := range c.lines {
		for _, p := range l.points {
			if !ticks[p.x] {
				d.text(across(p.x), c.y+c.height+18, `text-anchor="middle" fill="#555"`, strconv.FormatFloat(p.x, 'f', -1, 64))
			}
			ticks[p.x] = true
		}
	}
	d.text(c.x+c.width/2, c.y+c.height+36, `text-anchor="middle" fill="#555"`, c.below)
	for _, l := range c.lines {
		colour, dash := style(l.style)
		var points []string
		for _, p := range l.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", across(p.x), up(p.y)))
			if p.err > 0 {
				d.line(across(p.x), up(p.y-p.err), across(p.x), up(p.y+p.err), `stroke="`+colour+`"`)
			}
			fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, across(p.x), up(p.y), colour)
		}
		fmt.Fprintf(d, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
			strings.Join(points, " "), colour, dash)
	}
	c.names(d, up)
}

// scales returns how values become places, and the values with a line across the chart.
func (c chart) scales() (across, up func(float64) float64, values []float64) {
	left, right, low, high := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range c.lines {
		for _, p := range l.points {
			left, right, low, high = min(left, p.x), max(right, p.x), min(low, p.y), max(high, p.y+p.err)
		}
	}
	if !c.log {
		for v := 0.0; v <= high; v++ {
			values = append(values, v)
		}
		return func(x float64) float64 { return c.x + x/right*c.width },
			func(y float64) float64 { return c.y + c.height - y/high*c.height }, values
	}
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high)) // the powers of ten around the values
	if first == last {
		last++
	}
	for e := first; e <= last; e++ {
		values = append(values, math.Pow(10, e))
	}
	return func(x float64) float64 {
			if left == right {
				return c.x + c.width/2
			}
			return c.x + math.Log(x/left)/math.Log(right/left)*c.width
		}, func(y float64) float64 {
			return c.y + c.height - (math.Log10(y)-first)/(last-first)*c.height
		}, values
}

// names writes the lines' names at their ends, pushed apart where lines end close together.
func (c chart) names(d *drawing, up func(float64) float64) {
	const apart = 14
	type name struct {
		chartLine
		end, y float64
	}
	var names []name
	for _, l := range c.lines {
		end := up(l.points[len(l.points)-1].y)
		names = append(names, name{l, end, end})
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Compare(a.end, b.end) })
	for i := range names[1:] {
		names[i+1].y = max(names[i+1].y, names[i].y+apart)
	}
	over := max(0, names[len(names)-1].y-(c.y+c.height+4))
	for _, n := range names {
		colour, _ := style(n.style)
		d.line(c.x+c.width+4, n.end, c.x+c.width+14, n.y-over, `stroke="`+colour+`" stroke-width="0.7"`)
		d.text(c.x+c.width+17, n.y-over+4, `fill="`+colour+`"`, n.name)
	}
}
