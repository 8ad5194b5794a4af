package fire

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"orderstock/pkg/command/flagset"
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

	bounds string // of the flag
}

// Settings lists the settings of the load: the fields with a flag and a name in JSON.
func (c *Config) Settings() (all []Setting) {
	for _, part := range []any{c, &c.Mix} {
		v := reflect.ValueOf(part).Elem()
		for _, field := range reflect.VisibleFields(v.Type()) {
			tag := field.Tag.Get
			name, _, _ := strings.Cut(tag("json"), ",")
			if tag("flag") == "" || name == "-" {
				continue
			}
			s := Setting{
				Name: name, Flag: tag("flag"), Says: tag("help"), Label: tag("label"), Default: tag("default"),
				To: v.FieldByIndex(field.Index).Addr().Interface(), bounds: tag("bounds"),
			}
			s.Most, _ = strconv.ParseFloat(tag("most"), 64) // 0 without a label
			if _, time := s.To.(*time.Duration); time {
				s.Unit = "s"
			}
			all = append(all, s)
		}
	}
	return all
}

// number returns the setting's value, a time in seconds.
func (s Setting) number() float64 {
	switch v := reflect.ValueOf(s.To).Elem(); {
	case s.Unit != "":
		return time.Duration(v.Int()).Seconds()
	case v.CanInt():
		return float64(v.Int())
	case v.CanFloat():
		return v.Float()
	}
	return 0 // a setting without a label
}

// Arg returns the setting as a flag with its value, after a space; "" if it has its default.
func (s Setting) Arg() string {
	v := reflect.ValueOf(s.To).Elem()
	text := fmt.Sprint(v)
	switch {
	case v.IsZero() && s.Name != "repeat": // of the others, 0 means the default, or is it
		return ""
	case s.Label == "" && text == s.Default:
		return ""
	case s.Label != "":
		text = strconv.FormatFloat(s.number(), 'f', -1, 64) + s.Unit
	}
	return " --" + s.Flag + " " + text
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

// Flags adds a flag for each setting of the load, and one for Disturbed.
func (c *Config) Flags(f *pflag.FlagSet) {
	flagset.Add(f, c)
	flagset.Add(f, &c.Mix)
}
