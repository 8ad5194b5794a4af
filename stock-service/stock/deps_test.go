package stock_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// The domain imports no framework and no driver, not even through another package.
func TestTheDomainIsPure(t *testing.T) {
	impure := regexp.MustCompile(`(?m)^(net/http|database/sql|` +
		`.*(gin-gonic|opentelemetry|prometheus|zookeeper|redis|gorm).*|` +
		`orderstock/(order-service|loadtest).*)$`)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if found := impure.FindAllString(string(out), -1); found != nil {
		t.Errorf("the domain links %q", found)
	}
}
