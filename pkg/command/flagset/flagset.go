// Package flagset makes the flags of a command from the fields of a struct.
package flagset

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"orderstock/pkg/config"
)

// Each is a flag that is given several times, each time with one value, which may have commas.
type Each []string

// Add adds a flag for each exported field of the struct that has the tag flag, its name, also in embedded structs. The
// tag help is its usage, and default its default, unless the field has a value. Of a number or a time, bounds are the
// least and the most. A list is separated by commas.
func Add(f *pflag.FlagSet, settings any) {
	v := reflect.ValueOf(settings).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, help := field.Tag.Get("flag"), field.Tag.Get("help")
		if name == "" {
			continue
		}
		of := v.FieldByIndex(field.Index)
		standard, unset := field.Tag.Get("default"), of.IsZero()
		address := of.Addr()
		if of.Kind() == reflect.String {
			address = address.Convert(reflect.TypeFor[*string]())
		}
		switch to := address.Interface().(type) {
		case *string:
			f.StringVar(to, name, *to, help)
		case *bool:
			f.BoolVar(to, name, *to, help)
		case *uint64:
			f.Uint64Var(to, name, *to, help)
		case *time.Duration:
			f.DurationVar(to, name, *to, help)
			if least, most, ok := strings.Cut(field.Tag.Get("bounds"), " "); ok {
				value := f.Lookup(name)
				value.Value = boundedTime{value.Value, to, mustTime(name, least), mustTime(name, most)}
			}
		case *[]string:
			l := &list{to: to}
			f.Var(l, name, help)
			l.flag = f.Lookup(name)
		case *Each:
			f.StringArrayVar((*[]string)(to), name, *to, help)
		case *[]int:
			f.IntSliceVar(to, name, *to, help)
		case *int:
			addNumber(f, to, name, help, field.Tag.Get("bounds"))
		case *int64:
			addNumber(f, to, name, help, field.Tag.Get("bounds"))
		case *float64:
			addNumber(f, to, name, help, field.Tag.Get("bounds"))
		}
		flag := f.Lookup(name)
		if standard != "" && unset {
			if err := flag.Value.Set(standard); err != nil {
				panic(fmt.Sprintf("default of --%s: %v", name, err)) // a test makes each command
			}
			flag.DefValue = flag.Value.String()
		}
	}
}

// boundedTime is a time as the value of a flag.
type boundedTime struct {
	pflag.Value
	to          *time.Duration
	least, most time.Duration
}

func (b boundedTime) Set(text string) error {
	if err := b.Value.Set(text); err != nil {
		return err
	}
	if *b.to < b.least || *b.to > b.most {
		return fmt.Errorf("want %v to %v", b.least, b.most)
	}
	return nil
}

// mustTime reads a bound of a flag.
func mustTime(name, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("bounds of --%s: %v", name, err)) // a test makes each command
	}
	return d
}

// addNumber adds a flag for a number.
func addNumber[N int | int64 | float64](f *pflag.FlagSet, to *N, name, help, bounds string) {
	var least, most N
	bounds = cmp.Or(bounds, "-9007199254740992 9007199254740992")
	if _, err := fmt.Sscan(bounds, &least, &most); err != nil {
		panic(fmt.Sprintf("bounds of --%s: %v", name, err)) // a test makes each command
	}
	f.Var(bounded[N]{to, least, most, strings.Replace(bounds, " ", " to ", 1)}, name, help)
}

// bounded is a number as the value of a flag.
type bounded[N int | int64 | float64] struct {
	to          *N
	least, most N
	want        string
}

func (b bounded[N]) Type() string   { return fmt.Sprintf("%T", b.least) }
func (b bounded[N]) String() string { return fmt.Sprint(*b.to) }

func (b bounded[N]) Set(text string) error {
	var n N
	words, _ := fmt.Sscan(text, &n, new(string))
	if inside := n >= b.least && n <= b.most; words != 1 || !inside { // NaN is not inside
		return errors.New("want " + b.want)
	}
	*b.to = n
	return nil
}

// list is a list as the value of a flag. The first use of the flag replaces the default, and each further one adds to
// the list.
type list struct {
	to   *[]string
	flag *pflag.Flag
}

func (l *list) Type() string   { return "strings" }
func (l *list) String() string { return strings.Join(*l.to, ",") }

func (l *list) Set(text string) error {
	entries, err := config.ParseList(text)
	if err != nil {
		return err
	}
	if l.flag.Changed {
		entries = append(*l.to, entries...)
	}
	*l.to = entries
	return nil
}
