package tables

import (
	"fmt"
	"path"
	"strings"
	"time"

	"orderstock/loadtest/texts"
)

// PageFile is the file of the fault's page, relative to the module's root.
func (f Fault) PageFile() string { return "loadtest/faults/" + strings.ToLower(f.Letter) + ".md" }

// Page returns the fault's page in Markdown, in English, with a link to the one in Chinese, which
// texts.Language.Document makes of it. played is the part about a run: see Played.
func (f Fault) Page(played string) string {
	var b strings.Builder
	link := func(l Link) string { return fmt.Sprintf("[`%s`](../../%s)", l.Name, l.File) }
	fmt.Fprintf(&b, "# %s. %s\n\n[中文](%s)\n\n", f.Letter, f.Title, path.Base(texts.Chinese().File(f.PageFile())))
	fmt.Fprintf(&b, "%s\n\n```\n%s\n```\n\n", f.Says, strings.TrimSpace(f.Idea))
	fmt.Fprintf(&b, "## How it is right here\n\n%s\n\n", f.Fix)
	fmt.Fprintf(&b, "## What happened\n\n%s\n%s\n%s\n\n", playedBegin, strings.TrimSpace(played), playedEnd)
	fmt.Fprintf(&b, "## What differs from the product\n\n%s\n\n%s\n\n",
		f.changes("Broken", Broken), f.changes("Fixed", Fixed))
	if lesson := f.Lesson(); lesson != "" {
		b.WriteString(lesson + "\n\n")
	}
	b.WriteString("## Play it\n\n```sh\n")
	for _, side := range Sides {
		_, run := f.Play(side, FirstSeed)
		b.WriteString(run.Command + "\n")
	}
	b.WriteString("```\n\n")
	fmt.Fprintf(&b, "This brings it back:\n\n- %s\n\nThese tests keep it away:\n\n", link(f.Source))
	for _, test := range f.Tests {
		fmt.Fprintf(&b, "- %s\n", link(test))
	}
	return b.String()
}

// changes lists the changes of a side with that name.
func (f Fault) changes(name string, s Side) string {
	all := f.Changes(s)
	if len(all) == 0 {
		return name + " is the product."
	}
	text := name + " changes:\n"
	for _, c := range all {
		text += fmt.Sprintf("\n- %s (`%s`)", c.Says, c.Name)
	}
	return text
}

// The marks of the part about a run.
const playedBegin, playedEnd = "<!-- run:begin -->", "<!-- run:end -->"

// Played returns the part about a run of a page; "" if the page has none.
func Played(page string) string {
	_, rest, _ := strings.Cut(page, playedBegin)
	played, _, _ := strings.Cut(rest, playedEnd)
	return strings.TrimSpace(played)
}

// Played returns the part of the fault's page about a run of all variants.
func (p Pair) Played() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Recorded on %s, with seed %d.\n\n", p.Broken.At.Format(time.DateOnly), p.Broken.Seed)
	for _, of := range p.sides() {
		if of.run.Sentence == "" { // recorded before there was this variant
			continue
		}
		fmt.Fprintf(&b, "**%s: %s.**\n\n", of.name, of.run.Sentence)
		if scene := *of.scene; scene != nil {
			b.WriteString(scene.Markdown() + "\n")
		}
		if p.Kind == "time" && of.run.Variant == Fixed {
			times := p.Fixed.OrdersPerS / max(p.Broken.OrdersPerS, 0.1)
			fmt.Fprintf(&b, "That is %.1f times as many orders without the fault.\n\n", times)
		}
	}
	return strings.TrimSpace(b.String())
}
