package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// Figure is a picture of charts. Lengths are in SVG user units.
type Figure struct {
	// Title and Facts stand above the charts. A figure without a title is for a page: it has the page's colours.
	Title string
	Facts []string
	// Label describes the picture to those who cannot see it. Default: Title.
	Label string
	// Columns is the number of charts side by side; Width and Height are of each.
	Columns       int
	Width, Height float64
	Charts        []Chart
}

// Chart is a diagram of lines, with their names at their ends. Both axes begin at zero or, with Log, are logarithmic.
type Chart struct {
	Title, Below string // above the chart, and of the axis below
	Log          bool
	Lines        []Line
	// Marks are moments on the axis below, each with a name.
	Marks []Mark
}

// Mark is a named place on the axis below. One behind the last point is not drawn.
type Mark struct {
	X    float64
	Name string
}

// Line is one line, by ascending X. Style numbers its colour and its dashes.
type Line struct {
	Name   string
	Style  int
	Points []Point
}

// Point is a value. A Y that is not a number is a gap.
type Point struct{ X, Y float64 }

// known reports whether the line has a value there.
func (l Line) known(i int) bool { return i >= 0 && i < len(l.Points) && !math.IsNaN(l.Points[i].Y) }

// colours are Okabe and Ito's palette, which colour-blind readers can distinguish.
var colours = []string{"#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"}

// Styles of lines that are not simply numbered.
const (
	Blue        = 1
	Pink        = 3
	GreenDashed = 2 + 8
	BrownDashed = 7 + 8
)

// style returns the colour of the i-th line and its dashes. Lines are broken if the colours repeat.
func style(i int) (colour, dash string) {
	if i/len(colours)%2 == 1 {
		dash = ` stroke-dasharray="6 3"`
	}
	return colours[i%len(colours)], dash
}

// drawing is an SVG picture.
type drawing struct{ strings.Builder }

// begin opens the picture.
func (d *drawing) begin(width, height float64, label string) {
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" `+
		`role="img" aria-label="%[3]s" fill="currentColor" font-family="Helvetica, Arial, sans-serif" `+
		`font-size="12">`+"\n", math.Ceil(width), math.Ceil(height), template.HTMLEscapeString(label))
}

// picture closes the picture and returns it.
func (d *drawing) picture() template.HTML {
	d.WriteString("</svg>\n")
	return template.HTML(d.String()) // numbers, and words that were escaped
}

func (d *drawing) text(x, y float64, attributes, text string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, template.HTMLEscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, attributes string) {
	fmt.Fprintf(d, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x1, y1, x2, y2, attributes)
}

// The space around a chart, and of the words above all.
const (
	marginLeft, marginTop, marginBelow = 62.0, 40.0, 50.0
	titleHeight                        = 58.0
	letterWidth                        = 7.0
	pale                               = `fill-opacity="0.75"`
)

// SVG draws the figure.
func (f Figure) SVG() template.HTML {
	names := 0
	for _, c := range f.Charts {
		for _, l := range c.Lines {
			names = max(names, len(l.Name))
		}
	}
	wide, high := marginLeft+f.Width+float64(names)*letterWidth+20, marginTop+f.Height+marginBelow
	top, rows := 0.0, (len(f.Charts)+f.Columns-1)/f.Columns
	if f.Title != "" {
		top = titleHeight
	}
	width, height := wide*float64(f.Columns), top+float64(rows)*high
	var d drawing
	d.begin(width, height, cmp.Or(f.Label, f.Title))
	if f.Title != "" {
		fmt.Fprintf(&d, `<rect width="%.0f" height="%.0f" fill="#ffffff"/><g color="#222" fill="#222">`+"\n", width, height)
		d.text(marginLeft, 28, `font-size="17" font-weight="bold"`, f.Title)
		facts := slices.DeleteFunc(slices.Clone(f.Facts), func(s string) bool { return s == "" })
		d.text(marginLeft, 46, pale, strings.Join(facts, " · "))
	}
	for i, c := range f.Charts {
		x, y := marginLeft+float64(i%f.Columns)*wide, top+float64(i/f.Columns)*high+marginTop
		area{c, x, y, f.Width, f.Height}.draw(&d)
	}
	if f.Title != "" {
		d.WriteString("</g>")
	}
	return d.picture()
}

// area is a chart in its place.
type area struct {
	Chart
	x, y, width, height float64
}

// most bounds the numbers at an axis, and the points that are drawn as dots.
const most = 12

func (c area) draw(d *drawing) {
	d.text(c.x, c.y-14, `font-weight="bold"`, c.Title)
	c.Lines = slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool {
		return !slices.ContainsFunc(l.Points, func(p Point) bool { return p.Y > 0 })
	})
	if len(c.Lines) == 0 {
		d.text(c.x, c.y+20, pale, "nothing measured")
		return
	}
	across, up, below, values := c.scales()
	for _, v := range values {
		d.line(c.x, up(v), c.x+c.width, up(v), `stroke="currentColor" stroke-opacity="0.15"`)
		d.text(c.x-8, up(v)+4, `text-anchor="end" `+pale, English.Sprint(v))
	}
	for _, v := range below {
		d.text(across(v), c.y+c.height+18, `text-anchor="middle" `+pale, English.Sprint(v))
	}
	d.text(c.x+c.width/2, c.y+c.height+36, `text-anchor="middle" `+pale, c.Below)
	for _, l := range c.Lines {
		colour, dash := style(l.Style)
		var path strings.Builder
		for i, p := range l.Points {
			if !l.known(i) {
				continue
			}
			x, y := across(p.X), up(p.Y)
			switch {
			case l.known(i - 1):
				fmt.Fprintf(&path, "L%.1f %.1f", x, y)
			case l.known(i + 1):
				fmt.Fprintf(&path, "M%.1f %.1f", x, y)
			default: // between two gaps
				fmt.Fprintf(&path, "M%.1f %.1fh2", x-1, y)
			}
			if len(l.Points) <= most {
				fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, colour)
			}
		}
		fmt.Fprintf(d, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", &path, colour, dash)
	}
	c.marks(d, across)
	c.names(d, up)
}

// marks draws the marks as vertical lines, and their names as far as there is room.
func (c area) marks(d *drawing, across func(float64) float64) {
	free := c.x
	for _, m := range c.Marks {
		x, wide := across(m.X), float64(len(m.Name))*letterWidth
		if x > c.x+c.width {
			continue
		}
		d.line(x, c.y, x, c.y+c.height, `stroke="`+colours[4]+`" class="strike"`)
		switch {
		case x >= free && x+wide < c.x+c.width:
			d.text(x+4, c.y+10, `class="strike"`, m.Name)
			free = x + wide
		case x-wide >= free:
			d.text(x-4, c.y+10, `class="strike" text-anchor="end"`, m.Name)
			free = x
		}
	}
}

// scales returns how values become places, the numbers below, and the values with a line across the chart.
func (c area) scales() (across, up func(float64) float64, below, values []float64) {
	left, right, low, high := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range c.Lines {
		for i, p := range l.Points {
			left, right = min(left, p.X), max(right, p.X)
			if l.known(i) {
				low, high = min(low, p.Y), max(high, p.Y)
			}
			if !slices.Contains(below, p.X) {
				below = append(below, p.X)
			}
		}
	}
	if len(below) > most {
		below = round(right)
	}
	if !c.Log {
		return func(x float64) float64 { return c.x + x/right*c.width },
			func(y float64) float64 { return c.y + c.height - y/high*c.height }, below, round(high)
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
		}, below, values
}

// round returns a few round numbers from 0 to the highest at most.
func round(highest float64) (numbers []float64) {
	ten := math.Pow(10, math.Floor(math.Log10(highest)))
	step := ten
	switch {
	case highest < 2*ten:
		step = ten / 2
	case highest > 5*ten:
		step = 2 * ten
	}
	for i := 0.0; i*step <= highest; i++ {
		numbers = append(numbers, i*step)
	}
	return numbers
}

// names writes the lines' names at their ends, pushed apart where lines end close together.
func (c area) names(d *drawing, up func(float64) float64) {
	const apart = 14
	type name struct {
		Line
		end, y float64
	}
	var names []name
	for _, l := range c.Lines {
		last := len(l.Points) - 1
		for !l.known(last) {
			last--
		}
		end := up(l.Points[last].Y)
		names = append(names, name{l, end, end})
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Compare(a.end, b.end) })
	for i := range names[1:] {
		names[i+1].y = max(names[i+1].y, names[i].y+apart)
	}
	over := max(0, names[len(names)-1].y-(c.y+c.height+4))
	for _, n := range names {
		colour, _ := style(n.Style)
		d.line(c.x+c.width+4, n.end, c.x+c.width+14, n.y-over, `stroke="`+colour+`" stroke-width="0.7"`)
		d.text(c.x+c.width+17, n.y-over+4, `fill="`+colour+`"`, n.Name)
	}
}
