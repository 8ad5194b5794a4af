package readme

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"orderstock/loadtest/report"
)

// sheet returns the text of the result R in a file of the folder out, and draws its pictures into the document's
// folder. The text is "" if there is no such file, or if it holds only a part of the rows.
func sheet[R interface{ Sheet() report.Sheet }](name string) func(sources) (string, error) {
	return func(from sources) (string, error) {
		data, err := os.ReadFile(filepath.Join(from.out, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		var r R
		if err := json.Unmarshal(data, &r); err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		if r, ok := any(r).(interface{ Whole() bool }); ok && !r.Whole() {
			return "", nil
		}
		s := r.Sheet()
		if _, err := s.Draw(filepath.Join(from.root, filepath.Dir(resultsDoc))); err != nil {
			return "", err
		}
		measured, err := from.measured(name)
		return s.Markdown(measured), err
	}
}
