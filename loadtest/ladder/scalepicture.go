package ladder

import (
	"fmt"
	"os"
)

// Draw writes the ratios to one holder into an SVG file: a line for each delay and size of groups, over the holders.
func (s Scale) Draw(file string) error {
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
	if err := os.WriteFile(file, []byte(d.end()), 0o644); err != nil {
		return fmt.Errorf("draw the holders: %w", err)
	}
	return nil
}
