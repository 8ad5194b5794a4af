package main

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeSecrets writes files below the folder dir, each given as FILE=TEXT. In a TEXT, $NAME stands for the secret of
// that name: the value of the environment variable NAME or, if that is not set, a password derived from the name and
// the random key in dir/key. writeSecrets makes the key if it is missing. Every user may read the files, only the owner
// the key.
func writeSecrets(dir string, files []string) error {
	key, err := keyOf(filepath.Join(dir, "key"))
	if err != nil {
		return fmt.Errorf("make secrets: %w", err)
	}
	for _, file := range files {
		name, text, ok := strings.Cut(file, "=")
		if !ok || !filepath.IsLocal(name) {
			return fmt.Errorf("make secrets: %q is not FILE=TEXT with a FILE below the folder", name)
		}
		var failed error
		text = os.Expand(text, func(name string) string {
			secret, err := secretOf(key, name)
			failed = errors.Join(failed, err)
			return secret
		})
		if err := errors.Join(failed, writeWhole(filepath.Join(dir, name), []byte(text), 0o444)); err != nil {
			return fmt.Errorf("make secrets: %w", err)
		}
	}
	return nil
}

// ending gives a password a character of each kind that servers' rules demand. None of them has a meaning in a shell, a
// URL, a DSN, a header or a configuration.
const ending = "-Aa1"

// secretOf returns the variable's value. If it is not set, secretOf derives 32 characters from the key and the name,
// the limit of MySQL's accounts for replication. They have the ending if the key has it: the keys of earlier versions
// have not, and servers keep the passwords made of them.
func secretOf(key []byte, name string) (string, error) {
	if given := os.Getenv(name); given != "" {
		return given, nil
	}
	random, err := hkdf.Key(sha256.New, key, nil, name, 20)
	if err != nil {
		return "", err
	}
	secret := base32.StdEncoding.EncodeToString(random)
	if bytes.HasSuffix(key, []byte(ending)) {
		secret = secret[:len(secret)-len(ending)] + ending
	}
	return secret, nil
}

// keyOf returns the key in the file. If there is no file, it writes one with a new key.
func keyOf(path string) ([]byte, error) {
	key, err := os.ReadFile(path) //nolint:gosec // whoever starts the program names the folder
	if errors.Is(err, fs.ErrNotExist) {
		key = []byte(rand.Text() + ending)
		err = writeWhole(path, key, 0o400)
	}
	return key, err
}

// writeWhole replaces the file atomically. A reader, even after a loss of power, finds either the old or the new text.
func writeWhole(path string, text []byte, mode fs.FileMode) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
