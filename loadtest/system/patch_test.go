package system_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/system"
)

// root is the folder of the module.
const root = "../.."

// A run may compile while another one begins in the same folder.
func TestOverlayIsWholeWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	file, err := system.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() {
		var err error
		for range 20 {
			_, failed := system.Overlay(root, dir)
			err = errors.Join(err, failed)
		}
		written <- err
	}()
	for {
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if data, err := os.ReadFile(file); err != nil || !json.Valid(data) {
			t.Fatalf("%v, the list of %d bytes is not whole", err, len(data))
		}
	}
}

// Every patch applies to the product as it stands, together with all others.
func TestAllPatchesApplyTogether(t *testing.T) {
	file, err := system.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, replacement := range list.Replace {
		data, err := os.ReadFile(replacement)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	all, err := system.Patches()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if !strings.Contains(text.String(), `mutant("`+p.Name+`")`) {
			t.Errorf("patch %s brings no switch of its name", p.Name)
		}
	}
}

// The error for a patch whose lines are gone from the product names the patch.
func TestAPatchThatNoLongerAppliesIsNamed(t *testing.T) {
	copied := t.TempDir()
	for _, folder := range []string{"order-service", "stock-service", "pkg/operation", "pkg/httpapi"} {
		if err := os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	changed := 0
	err := filepath.WalkDir(copied, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		const line = "defer l.release(ctx, locks)"
		changed += strings.Count(string(data), line)
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(data), line, "defer l.letGo(ctx, locks)")), 0o644)
	})
	if err != nil || changed != 1 {
		t.Fatalf("%d lines changed, want 1 (%v)", changed, err)
	}
	_, err = system.Overlay(copied, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "patch release-early does not apply") {
		t.Errorf("got %v, want the name of the patch", err)
	}
}
