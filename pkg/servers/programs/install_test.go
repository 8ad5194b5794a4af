package programs_test

import (
	"strings"
	"testing"

	"orderstock/pkg/servers/programs"
)

func TestInstallNamesPackagesWhereItCannot(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no apt-get here
	err := programs.Install(t.Context(), func(string) {}, []*programs.MissingError{
		{Program: "redis-server", Packages: []string{"redis-server"}}, {Program: "java", Packages: []string{"b", "a"}},
	})
	if err == nil || !strings.Contains(err.Error(), "redis-server, java") ||
		!strings.Contains(err.Error(), "a b redis-server") {
		t.Errorf("error %v; want the missing program and the packages", err)
	}
	if err := programs.Install(t.Context(), func(string) {}, nil); err != nil {
		t.Errorf("with nothing missing: %v", err)
	}
}
