package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestListsAreReadAlike, from the environment and from flags.
func TestListsAreReadAlike(t *testing.T) {
	const one, two = "http://10.0.0.1:1", "http://10.0.0.2:2"
	type reader func(value string) ([]string, error)
	variable := func(name string, list func(surroundings) []string) reader {
		return func(value string) ([]string, error) {
			t.Setenv(name, value)
			s, err := readSurroundings()
			return list(s), err
		}
	}
	flag := func(name string, list func(*surroundings) []string) reader {
		return func(value string) ([]string, error) {
			var s surroundings
			f := pflag.NewFlagSet("fire", pflag.ContinueOnError)
			addFlags(f, &s)
			err := f.Set(name, value)
			return list(&s), err
		}
	}
	for name, read := range map[string]reader{
		"ORDER_URLS":      variable("ORDER_URLS", func(s surroundings) []string { return s.OrderURLs }),
		"STOCK_URLS":      variable("STOCK_URLS", func(s surroundings) []string { return s.StockURLs }),
		"ZOOKEEPER_ADDRS": variable("ZOOKEEPER_ADDRS", func(s surroundings) []string { return s.ZooKeeperAddrs }),
		"REDIS_ADDR":      variable("REDIS_ADDR", func(s surroundings) []string { return s.RedisAddrs }),
		"url":             flag("url", func(s *surroundings) []string { return s.OrderURLs }),
		"stock-url":       flag("stock-url", func(s *surroundings) []string { return s.StockURLs }),
	} {
		for _, value := range []string{one + "," + two, " " + one + " ,\t" + two + " "} {
			if got, err := read(value); err != nil || !slices.Equal(got, []string{one, two}) {
				t.Errorf("%s %q is %q, %v", name, value, got, err)
			}
		}
		for _, value := range []string{",", one + ",", "," + one, one + ",," + two, one + ", ," + two, one + " " + two} {
			if got, err := read(value); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %q is %q, %v", name, value, got, err)
			}
		}
		if _, err := read(one); err != nil {
			t.Error(err)
		}
	}
}
