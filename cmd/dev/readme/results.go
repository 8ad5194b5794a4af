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

// consoleDir is the folder of the console in the module, and of its pictures in the folder out.
const consoleDir = "loadtest/console"

// console returns the picture of the console. The tests of the page leave it and its description, which it copies to
// the console's folder. The text is "" if there is none.
func console(from sources) (string, error) {
	files := map[string][]byte{}
	for _, name := range []string{"console.png", "console.json"} {
		data, err := os.ReadFile(filepath.Join(from.out, filepath.Base(consoleDir), name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		files[name] = data
	}
	var of struct {
		Says string `json:"says"`
	}
	if err := json.Unmarshal(files["console.json"], &of); err != nil {
		return "", fmt.Errorf("read console.json: %w", err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(from.root, consoleDir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("![Fault A on the stage of the console. %s](%s/console.png)", of.Says, consoleDir), nil
}

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
