// Package config reads a program's settings from the environment and checks them. An error names the
// variable, its value, and the valid values.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// EnvironmentError is an error in the settings of the environment.
type EnvironmentError struct{ Err error }

func (e *EnvironmentError) Error() string { return "read the environment: " + e.Err.Error() }

func (e *EnvironmentError) Unwrap() error { return e.Err }

// Read fills a T from the environment, by the tags of its fields (see caarlos0/env), and returns it if its Check finds
// nothing wrong. The value of a variable NAME may be in a file instead, for example if it is a secret: NAME_FILE is
// then the file's path. Line ends at the end of the file are dropped. Its error is an *EnvironmentError.
func Read[T interface{ Check() error }]() (T, error) {
	var settings T
	environment, err := withFiles(&settings)
	if err != nil {
		return settings, &EnvironmentError{err}
	}
	err = env.ParseWithOptions(&settings, env.Options{Environment: environment, FuncMap: parsers})
	if many, ok := errors.AsType[env.AggregateError](err); ok {
		for i, one := range many.Errors {
			many.Errors[i] = named(reflect.TypeFor[T](), one)
		}
		err = errors.Join(many.Errors...)
	}
	if err == nil {
		err = settings.Check()
	}
	if err != nil {
		return settings, &EnvironmentError{err}
	}
	return settings, nil
}

// Defaults sets the fields that are zero to the defaults of their tags. It panics if a tag is malformed.
func Defaults(settings any) {
	empty := env.Options{Environment: map[string]string{}, FuncMap: parsers, SetDefaultsForZeroValuesOnly: true}
	if err := env.ParseWithOptions(settings, empty); err != nil {
		panic(fmt.Sprintf("defaults of %T: %v", settings, err)) // every use of the type finds it
	}
}

// parsers are the parsers of lists, which all have the same syntax.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[[]string](): func(text string) (any, error) { return ParseList(text) },
	reflect.TypeFor[[]netip.Prefix](): func(text string) (any, error) {
		var networks []netip.Prefix
		entries, err := ParseList(text)
		for _, entry := range entries {
			network, wrong := netip.ParsePrefix(entry)
			err = errors.Join(err, wrong)
			networks = append(networks, network)
		}
		return networks, err
	},
}

// withFiles returns the environment with the variables of the settings that come from files.
func withFiles(settings any) (map[string]string, error) {
	environment := env.ToMap(os.Environ())
	fields, err := env.GetFieldParams(settings)
	if err != nil {
		return nil, err
	}
	for _, field := range fields {
		path := environment[field.Key+"_FILE"]
		if path == "" || field.Key == "" {
			continue
		}
		if environment[field.Key] != "" {
			return nil, fmt.Errorf("%s and %[1]s_FILE are both set: set one", field.Key)
		}
		text, err := os.ReadFile(path) //nolint:gosec // the file is named by the person who starts the program
		if err != nil {
			return nil, fmt.Errorf("%s_FILE: %w", field.Key, err)
		}
		environment[field.Key] = string(text)
	}
	for _, field := range fields {
		if value, ok := environment[field.Key]; ok {
			environment[field.Key] = Trim(value)
		}
	}
	return environment, nil
}

// Trim drops what editors add to a value: a line break at its end, a byte order mark at its beginning.
func Trim(value string) string { return strings.TrimRight(strings.TrimPrefix(value, "\ufeff"), "\r\n") }

// named returns an error of the parser with the name of the variable in place of the field's.
func named(settings reflect.Type, err error) error {
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return err
	}
	field, _ := settings.FieldByName(parse.Name)
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	return fmt.Errorf("%s: %w", cmp.Or(name, parse.Name), parse.Err)
}

// Variable is an environment variable with its parsed value, for comparisons in Check.
type Variable[T cmp.Ordered] struct {
	Name  string
	Value T
}

// Var returns the variable of that name and value.
func Var[T cmp.Ordered](name string, value T) Variable[T] { return Variable[T]{name, value} }

func (v Variable[T]) String() string { return fmt.Sprintf("%s (%v)", v.Name, v.Value) }

// Positive returns an error if the value is not above zero.
func (v Variable[T]) Positive() error {
	var zero T
	return v.must(v.Value > zero, "be above 0")
}

// AtLeast returns an error if the value is below least.
func (v Variable[T]) AtLeast(least T) error {
	return v.must(v.Value >= least, fmt.Sprintf("be at least %v", least))
}

// Between returns an error if the value is below least or above most.
func (v Variable[T]) Between(least, most T) error {
	return v.must(v.Value >= least && v.Value <= most, fmt.Sprintf("be from %v to %v", least, most))
}

// Above returns an error if the value is not above other's.
func (v Variable[T]) Above(other Variable[T]) error {
	return v.must(v.Value > other.Value, "be above "+other.String())
}

// NotBelow returns an error if the value is below other's.
func (v Variable[T]) NotBelow(other Variable[T]) error {
	return v.must(v.Value >= other.Value, "not be below "+other.String())
}

func (v Variable[T]) must(holds bool, what string) error {
	if holds {
		return nil
	}
	return errors.New(v.String() + " must " + what)
}

// Secret is a string that prints as ***.
type Secret string

func (Secret) String() string { return "***" }

// LogValue keeps the secret out of structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// CheckToken returns an error that names the variable if its token, which may be empty, cannot travel in a header.
func CheckToken(name string, token Secret) error {
	for i, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("%s must be visible ASCII characters without spaces: byte %d is %#x", name, i+1, c)
		}
	}
	return nil
}

// CheckLogin returns an error that names the variable if its login is neither empty nor user:password.
func CheckLogin(name string, login Secret) error {
	if user, password, ok := strings.Cut(string(login), ":"); login != "" && (!ok || user == "" || password == "") {
		return errors.New(name + " must be user:password")
	}
	return nil
}
