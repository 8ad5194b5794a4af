package fire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"orderstock/pkg/operation"
)

// Setting is a setting of a load: a flag, a number in JSON, and a field of a page.
type Setting struct {
	// Name is the setting's name in JSON, Flag the flag, and Says what it is.
	Name string `json:"name"`
	Flag string `json:"flag"`
	Says string `json:"says"`
	// Label is the name for people; "" for a setting that is no number.
	Label string `json:"label"`
	// Most is the highest value on a page and of "loadtest run", whose load comes from the machine of the services.
	Most float64 `json:"most"`
	// Unit follows the number in a flag: "s" for a time, which is in seconds.
	Unit string `json:"unit"`
	// Default is the flag's default.
	Default string `json:"-"`
	// To points to the field.
	To any `json:"-"`
}

// Settings lists the settings of the load.
func (c *Config) Settings() []Setting {
	const minutes = 600
	m := &c.Mix
	return []Setting{
		{
			"orders", "orders", "orders to send (default 2000, or no limit with --duration)", "Orders", 200_000, "", "",
			&c.Orders,
		},
		{"concurrency", "concurrency", "clients", "Buyers", 2000, "", "200", &c.Concurrency},
		{"goods", "goods", "products, made new for the run", "Products", 1000, "", "5", &m.Goods},
		{"stock", "stock", "pieces of each product", "Pieces of each", operation.MaxNum, "", "300", &m.Stock},
		{
			"rate", "rate", "orders a second; 0: each as soon as a client is free", "Orders a second", 100_000, "", "", &c.Rate,
		},
		{"duration_s", "duration", "end after this time", "Seconds", minutes, "s", "", &c.Duration},
		{
			"warmup_s", "warmup", "time at the beginning that is not measured", "Warm-up seconds", minutes, "s", "", &c.Warmup,
		},
		{"items_max", "items-max", "most products in one order", "Products in an order", 100, "", "3", &m.ItemsMax},
		{"num_max", "num-max", "most pieces of one product in an order", "Pieces in a line", 1_000_000, "", "3", &m.NumMax},
		{
			"zipf", "zipf", "how much more popular the first products are: weight 1/i^zipf; 0: all equally", "Crowding", 10, "",
			"", &m.Zipf,
		},
		{
			"repeat", "repeat", "share of orders sent again under the same key, at the same time and later", "Sent again", 1, "",
			"0.1", &m.Repeat,
		},
		{"cancel", "cancel", "share of orders that are cancelled", "Cancelled", 1, "", "", &m.Cancel},
		{"timeout_s", "timeout", "of each call", "Patience in seconds", 60, "s", "15s", &c.Timeout},
		{"path", "path", "order: whole orders; deduct: the stock service alone", "", 0, "", "order", (*string)(&c.Path)},
		{"seed", "seed", "makes the same orders again; 0: random", "", 0, "", "", &m.Seed},
	}
}

// number returns the setting's value, a time in seconds.
func (s Setting) number() float64 {
	switch p := s.To.(type) {
	case *int:
		return float64(*p)
	case *int64:
		return float64(*p)
	case *time.Duration:
		return p.Seconds()
	case *float64:
		return *p
	}
	return 0 // a setting without a label
}

// text returns the setting's value as a flag takes it; "" for the default.
func (s Setting) text() string {
	switch p := s.To.(type) {
	case *string:
		if *p != s.Default {
			return *p
		}
		return ""
	case *uint64:
		if *p == 0 {
			return ""
		}
		return strconv.FormatUint(*p, 10)
	}
	n := s.number()
	if n == 0 && s.Name != "repeat" { // of the others, 0 means the default, or is it
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + s.Unit
}

// Check returns an error for a number below 0 or above Most.
func (s Setting) Check() error {
	if s.Label == "" {
		return nil
	}
	if n := s.number(); n < 0 || n > s.Most || math.IsNaN(n) {
		return fmt.Errorf("%s %v: want 0 to %.0f", s.Name, n, s.Most)
	}
	return nil
}

// Arg returns the setting as a flag with its value, after a space; "" if it has its default.
func (s Setting) Arg() string {
	text := s.text()
	if text == "" {
		return ""
	}
	return " --" + s.Flag + " " + text
}

// zeroIsDefault reports whether 0 stands for a default that is not 0. As a flag, 0 is refused then.
func (s Setting) zeroIsDefault() bool {
	return s.Name == "orders" || s.Label != "" && s.Default != "" && s.Name != "repeat"
}

// aboveZero is a setting as the value of a flag.
type aboveZero struct {
	pflag.Value
	of Setting
}

func (v aboveZero) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return err
	}
	if v.of.number() <= 0 {
		return errors.New("want more than 0; leave it out for the default")
	}
	return nil
}

// Flags adds a flag for each setting of the load, and one for Disturbed.
func (c *Config) Flags(f *pflag.FlagSet) {
	f.BoolVar(&c.Disturbed, "disturbed", false,
		"something is broken or limited during the run: calls may have to be repeated, which is a violation in calm")
	for _, s := range c.Settings() {
		switch p := s.To.(type) {
		case *int:
			f.IntVar(p, s.Flag, 0, s.Says)
		case *int64:
			f.Int64Var(p, s.Flag, 0, s.Says)
		case *uint64:
			f.Uint64Var(p, s.Flag, 0, s.Says)
		case *float64:
			f.Float64Var(p, s.Flag, 0, s.Says)
		case *time.Duration:
			f.DurationVar(p, s.Flag, 0, s.Says)
		case *string:
			f.StringVar(p, s.Flag, "", s.Says)
		}
		flag := f.Lookup(s.Flag)
		if s.Default != "" {
			flag.DefValue = s.Default
			if err := flag.Value.Set(s.Default); err != nil {
				panic(fmt.Sprintf("fire: default of %s: %v", s.Name, err)) // it is a constant of this program
			}
		}
		if s.zeroIsDefault() {
			flag.Value = aboveZero{flag.Value, s}
		}
	}
}
