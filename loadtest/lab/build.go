package lab

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Binaries are the services, built with the tag "faults".
type Binaries struct {
	Order, Stock string
}

// Build compiles both services into dir. It is run from the module's folder.
func Build(ctx context.Context, dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, fmt.Errorf("build services: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "faults", "-o", dir+"/", "orderstock/cmd/order-service", "orderstock/cmd/stock-service")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Binaries{}, fmt.Errorf("build services: %w\n%s", err, out)
	}
	return Binaries{Order: filepath.Join(dir, "order-service"), Stock: filepath.Join(dir, "stock-service")}, nil
}
