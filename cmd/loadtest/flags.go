package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"orderstock/pkg/config"
)

// addFlags adds a flag for each exported field of the struct that has the tag flag, its name, and for those of embedded
// structs. The tag help is its usage, and default its default, instead of the field's value. Of a number, bounds are the
// least and the most.
func addFlags(f *pflag.FlagSet, settings any) {
	v := reflect.ValueOf(settings).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, help := field.Tag.Get("flag"), field.Tag.Get("help")
		if name == "" {
			continue
		}
		switch to := v.FieldByIndex(field.Index).Addr().Interface().(type) {
		case *string:
			f.StringVar(to, name, *to, help)
		case *bool:
			f.BoolVar(to, name, *to, help)
		case *uint64:
			f.Uint64Var(to, name, *to, help)
		case *time.Duration:
			f.DurationVar(to, name, *to, help)
		case *[]string:
			f.Var(config.NewListFlag(to), name, help)
		case *[]int:
			f.IntSliceVar(to, name, *to, help)
		case *[]time.Duration:
			f.DurationSliceVar(to, name, *to, help)
		case *int:
			addNumber(f, to, field.Tag)
		case *float64:
			addNumber(f, to, field.Tag)
		}
		if standard, ok := field.Tag.Lookup("default"); ok {
			flag := f.Lookup(name)
			if err := flag.Value.Set(standard); err != nil {
				panic(fmt.Sprintf("default of --%s: %v", name, err)) // a test makes each command
			}
			flag.DefValue = flag.Value.String()
		}
	}
}

// addNumber adds a flag for a number.
func addNumber[N int | float64](f *pflag.FlagSet, to *N, tag reflect.StructTag) {
	var least, most N
	if n, _ := fmt.Sscan(tag.Get("bounds"), &least, &most); n != 2 {
		least, most = -1<<53, 1<<53
	}
	within(f, to, tag.Get("flag"), *to, least, most, tag.Get("help"))
}

// bounded is a number as the value of a flag.
type bounded[N int | float64] struct {
	to          *N
	least, most N
}

// within adds a flag for a number from least to most.
func within[N int | float64](f *pflag.FlagSet, to *N, name string, value, least, most N, usage string) {
	*to = value
	f.Var(bounded[N]{to, least, most}, name, usage)
}

func (b bounded[N]) Type() string   { return fmt.Sprintf("%T", b.least) }
func (b bounded[N]) String() string { return fmt.Sprint(*b.to) }

func (b bounded[N]) Set(text string) error {
	var n N
	if words, _ := fmt.Sscan(text, &n, new(string)); words != 1 || n < b.least || n > b.most {
		return fmt.Errorf("want %v to %v", b.least, b.most)
	}
	*b.to = n
	return nil
}

// fromEnvironment sets flags that are not given from the environment variables of their names in capitals.
func fromEnvironment(f *pflag.FlagSet, names ...string) error {
	var err error
	for _, name := range names {
		variable := strings.ToUpper(name)
		if value := os.Getenv(variable); value != "" && !f.Changed(name) {
			if failed := f.Set(name, value); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", variable, failed))
			}
		}
	}
	return err
}
