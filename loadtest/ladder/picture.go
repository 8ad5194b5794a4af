package ladder

import (
	"cmp"
	"fmt"
	"slices"
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

// SVG draws the run: for each path a row of two panels, throughput by clients and p99 latency by clients, both on log
// scales, with a line for each strategy, for one hot product and one replica.
func (r *Result) SVG() string {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return row.Goods != 1 || row.Replicas != 1 || row.SellOut
	})
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Clients, b.Clients) })
	paths := distinct(rows, func(row Row) string { return row.Path })
	strategies := distinct(r.Rows, func(row Row) string { return row.Strategy })

	panels := titleHeight + float64(len(paths))*(marginTop+panelHeight+gapY)
	height := panels
	if len(r.Survival) > 0 {
		height += float64(len(strategies)+4) * lineHeight
	}
	var d drawing
	d.begin(2*(marginLeft+panelWidth+labelWidth), height, marginLeft,
		"One hot product: sales of each strategy, and waiting time of a buyer", r.Server, r.Machine, r.Date)
	for i, path := range paths {
		top := titleHeight + float64(i)*(marginTop+panelHeight+gapY) + marginTop
		load := map[string]string{PathDeduct: "the deduction call alone", PathOrder: "whole orders"}[path]
		for k, panel := range []struct {
			title string
			value func(Row) float64
		}{
			{load + ": sales per second", func(row Row) float64 { return row.DonePerS }},
			{load + ": p99 latency, ms", func(row Row) float64 { return row.P99MS }},
		} {
			c := chart{
				x: marginLeft + float64(k)*(panelWidth+labelWidth+marginLeft), y: top, width: panelWidth, height: panelHeight,
				title: panel.title, below: "clients", log: true,
			}
			for style, s := range strategies {
				l := chartLine{name: s, style: style}
				for _, row := range rows {
					if v := panel.value(row); row.Path == path && row.Strategy == s && v > 0 {
						l.points = append(l.points, chartPoint{x: float64(row.Clients), y: v})
					}
				}
				c.lines = append(c.lines, l)
			}
			c.draw(&d)
		}
	}
	r.drawSurvival(&d, panels+lineHeight, strategies)
	return d.end()
}

// drawSurvival writes for each strategy whether it kept its deductions under each fault.
func (r *Result) drawSurvival(d *drawing, y float64, strategies []string) {
	if len(r.Survival) == 0 {
		return
	}
	column := func(i int) float64 { return marginLeft + 190 + float64(i)*300 }
	d.text(marginLeft, y, `font-weight="bold" fill="#222"`, "What survived")
	for i, fault := range []string{"calm", "the service killed and started again", "Redis flushed"} {
		d.text(column(i), y, `fill="#555"`, fault)
	}
	for i, name := range strategies {
		y += lineHeight
		colour, _ := style(i)
		d.text(marginLeft, y, `fill="`+colour+`"`, name)
		for i, fault := range Faults {
			kept, fill := r.survived(name, fault), "#222"
			if strings.HasPrefix(kept, broken) {
				fill = "#D55E00"
			}
			d.text(column(i), y, `fill="`+fill+`"`, kept)
		}
	}
}

// SVG draws the ratios to one holder: a line for each delay and size of groups, over the holders.
func (s Scale) SVG() string {
	const width, height, left, top, right = 620.0, 300.0, 60.0, 84.0, 230.0
	var d drawing
	d.begin(left+width+right, top+height+50, left, "Deductions by lock holders, relative to one holder",
		s.Server, s.Machine, s.Date)
	c := chart{x: left, y: top, width: width, height: height, below: "holders"}
	for _, r := range s.AllRows() {
		name := fmt.Sprintf("commits of %g ms, groups of %d", r.DelayMS, r.Group)
		if len(c.lines) == 0 || c.lines[len(c.lines)-1].name != name {
			c.lines = append(c.lines, chartLine{name: name, style: len(c.lines)})
		}
		l := &c.lines[len(c.lines)-1]
		l.points = append(l.points, chartPoint{x: float64(r.Holders), y: r.Ratio, err: r.Error})
	}
	c.draw(&d)
	return d.end()
}
