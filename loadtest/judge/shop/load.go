package shop

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/parser"
)

// Load reads and checks a file. The hosts are those that the user allows besides this machine. An error names the line
// and the column of each mistake.
func Load(name string, hosts []string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	f, err := Parse(text, hosts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Dir, err = filepath.Abs(filepath.Dir(name)); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return f, nil
}

// Parse reads and checks a file's text.
func Parse(text []byte, hosts []string) (*File, error) {
	tree, err := parser.ParseBytes(bytes.TrimPrefix(text, mark), 0)
	if err != nil {
		return nil, placed(err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, errors.New("want one document that describes a shop")
	}
	f := &File{Text: text}
	if err := decode(tree.Docs[0].Body, f); err != nil {
		return nil, err
	}
	f.At = at(tree.Docs[0].Body)
	f.Settle, f.Timeout = cmp.Or(f.Settle, defaultSettle), cmp.Or(f.Timeout, defaultTimeout)
	if f.Service != nil {
		f.Service.Within = cmp.Or(f.Service.Within, defaultWithin)
	}
	c := checker{f: f, hosts: hosts}
	c.file()
	return f, errors.Join(c.mistakes...)
}

// NamesPieces reports whether the order, or a step of its buyer, says how many pieces it buys.
func (f *File) NamesPieces() bool {
	texts := f.Order.texts()
	for i := range f.Buyer {
		s := &f.Buyer[i]
		texts = append(texts, append(s.texts(), s.Command, strings.Join(s.SQL, ""))...)
	}
	found, _ := holes(texts)
	return slices.Contains(found, "pieces") || slices.Contains(found, "items")
}

// Fresh reports whether the products, or requests of the buyer, are made new for each phase.
func (f *File) Fresh() bool {
	for name := range f.Stock {
		if found, _ := holes(name); len(found) > 0 {
			return true
		}
	}
	return false
}
