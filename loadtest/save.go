package loadtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// SaveJSON writes v as indented JSON to the file at path, and makes its folder.
func SaveJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}
