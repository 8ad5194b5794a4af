package orderhttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwardedFor names the header that proxies extend: each adds its caller's address, at the end of the last line or in
// a new one.
const forwardedFor = "X-Forwarded-For"

// Inside returns a function that reports whether a request comes straight from one of the networks: it has no
// X-Forwarded-For, which their proxies add for clients outside.
func Inside(networks []netip.Prefix) func(*http.Request) bool {
	return func(r *http.Request) bool {
		peer, ok := address(r.RemoteAddr)
		return ok && len(r.Header.Values(forwardedFor)) == 0 && anyContains(networks, peer)
	}
}

func anyContains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// sender returns the client that the request counts for: its address or, with IPv6, its /64 network, since one machine
// may use all addresses of it.
func sender(r *http.Request, proxies []netip.Prefix) string {
	addr, ok := address(r.RemoteAddr)
	if !ok {
		return "" // all unknown addresses share one count
	}
	names := strings.Split(strings.Join(r.Header.Values(forwardedFor), ","), ",")
	for i := len(names) - 1; i >= 0 && anyContains(proxies, addr); i-- {
		name := strings.TrimSpace(names[i])
		if name == "" {
			continue
		}
		before, ok := address(name)
		if !ok {
			break // a name that hides the address; its predecessors cannot be trusted
		}
		addr = before
	}
	if addr.Is6() {
		network, _ := addr.Prefix(64) // 64 is always a length of IPv6
		return network.String()
	}
	return addr.String()
}

// address reads an address of IPv4 or IPv6, with or without brackets, a port and a zone.
func address(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = with.Addr()
	}
	return addr.Unmap().WithZone(""), true
}
