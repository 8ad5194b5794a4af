// Package example has files for the judge, of several kinds of shops.
package example

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the examples, in their order.
func Names() (names []string) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text returns the example with that name, and whether there is one.
func Text(name string) (text string, found bool) {
	out, err := files.ReadFile(name + ".yaml")
	return string(out), err == nil
}
