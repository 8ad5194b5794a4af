package config

import (
	"fmt"
	"strings"
	"unicode"
)

// ParseList returns the entries of the list, without the spaces around them. Text of spaces alone is an empty list. It
// returns an error that names the entry if one is empty or has a space within it.
func ParseList(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	entries := strings.Split(text, ",")
	for i, entry := range entries {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			return nil, fmt.Errorf("entry %d of the list %q is empty", i+1, text)
		}
		if strings.ContainsFunc(entry, unicode.IsSpace) {
			return nil, fmt.Errorf("entry %d of the list %q has a space in it: commas separate entries", i+1, text)
		}
		entries[i] = entry
	}
	return entries, nil
}

// ListFlag is a flag that holds a list (see pflag.Value). The first use of the flag replaces the default, and each
// further one adds to the list.
type ListFlag struct {
	list *[]string
	used bool
}

// NewListFlag returns a ListFlag for list, whose present value is the default.
func NewListFlag(list *[]string) *ListFlag { return &ListFlag{list: list} }

// Set implements pflag.Value.
func (f *ListFlag) Set(text string) error {
	entries, err := ParseList(text)
	if err != nil {
		return err
	}
	if f.used {
		entries = append(*f.list, entries...)
	}
	*f.list, f.used = entries, true
	return nil
}

// String returns the list as Set reads it.
func (f *ListFlag) String() string { return strings.Join(*f.list, ",") }

// Type implements pflag.Value.
func (f *ListFlag) Type() string { return "strings" }
