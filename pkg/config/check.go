package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// CheckAddrs returns an error that names the variable if one of its addresses is not host:port, with a port from 1 to
// 65535.
func CheckAddrs(name string, addrs ...string) error {
	for _, addr := range addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || !isPort(port, 1) {
			return fmt.Errorf("%s (%s) must be host:port, with a port from 1 to 65535", name, addr)
		}
	}
	return nil
}

// CheckListen returns an error that names the variable if its address is not host:port or :port. Port 0 takes a free
// one.
func CheckListen(name, addr string) error {
	if _, port, err := net.SplitHostPort(addr); err != nil || !isPort(port, 0) {
		return fmt.Errorf("%s (%s) must be host:port or :port, with a port up to 65535", name, addr)
	}
	return nil
}

// CheckBases returns an error that names the variable if one of its addresses is not http://host or https://host, with
// or without a port, and nothing more: the program appends the paths.
func CheckBases(name string, bases ...string) error {
	for _, base := range bases {
		if u, err := url.Parse(base); err != nil || u.Scheme+"://"+u.Host != base || !isServer(u) {
			return fmt.Errorf("%s (%s) must be http://host:port or https://host:port, without a path", name, hidden(base))
		}
	}
	return nil
}

// CheckURL returns an error that names the variable if its address, which may be empty, is not one of http or https.
func CheckURL(name, address string) error {
	if u, err := url.Parse(address); address != "" && (err != nil || !isServer(u)) {
		return fmt.Errorf("%s (%s) must begin with http:// or https:// and a host", name, hidden(address))
	}
	return nil
}

func isServer(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && (u.Port() == "" || isPort(u.Port(), 1))
}

func isPort(text string, least int) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= least && port <= 65535
}

// hidden returns the address without a password in it.
func hidden(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "not an address"
}

// ParseList returns the entries of the list, without the spaces around them. Text of spaces alone is an empty list. It
// returns an error that names the entry if one is empty or has a space within it.
func ParseList(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	entries := strings.Split(text, ",")
	for i, entry := range entries {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			return nil, fmt.Errorf("entry %d of the list %q is empty", i+1, text)
		}
		if strings.ContainsFunc(entry, unicode.IsSpace) {
			return nil, fmt.Errorf("entry %d of the list %q has a space in it: commas separate entries", i+1, text)
		}
		entries[i] = entry
	}
	return entries, nil
}
