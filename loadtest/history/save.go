package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes the history to a file. The file is either complete or not there.
func (h *History) Save(path string) error { return save(path, h.Write) }

// SaveJSON writes v as indented JSON to a file, and makes its folder. The file is either complete or not there.
func SaveJSON(path string, v any) error {
	return save(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	})
}

// Open reads the history in a file. Every error wraps ErrHistory, also if there is no such file.
func Open(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHistory, err)
	}
	defer func() { _ = f.Close() }() // only read
	return Read(f)
}

// Clear removes files of an earlier run, so that no old verdict stands beside what is new. They need not be there.
func Clear(files ...string) error {
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the earlier run: %w", err)
		}
	}
	return nil
}

// save writes to a file beside path and gives it that name once it is complete.
func save(path string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save %s: %w", path, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
