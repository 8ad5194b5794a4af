package command

import (
	"cmp"
	"runtime/debug"
)

// version is set by the Makefile: -ldflags "-X orderstock/pkg/command.version=…".
var version string

// Version returns the version that the program was built as, or else the one that the Go toolchain recorded.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			found = s.Value
		}
	}
	return cmp.Or(found, "(devel)")
}
