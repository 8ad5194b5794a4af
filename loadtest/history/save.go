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

// Save writes the history to a file, atomically.
func (h *History) Save(path string) error { return save(path, h.Write) }

// SaveJSON writes v as indented JSON to a file, atomically, and creates its folder.
func SaveJSON(path string, v any) error {
	return save(path, func(w io.Writer) error { return WriteJSON(w, v) })
}

// WriteJSON writes v as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// Open reads the history in a file. Every error wraps ErrHistory, also for a missing file.
func Open(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHistory, err)
	}
	defer func() { _ = f.Close() }() // read-only
	return Read(f)
}

// Clear removes the files of an earlier run, so that an old verdict is not mistaken for the new one. Missing files are
// no error, but a folder that takes no new file is.
func Clear(files ...string) error {
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the earlier run: %w", err)
		}
		if err := save(file, func(io.Writer) error { return nil }); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove an empty file: %w", err)
		}
	}
	return nil
}

// save writes to a temporary file next to path and renames it once it is complete.
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
