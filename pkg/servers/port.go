package servers

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

var (
	portsMu sync.Mutex
	ports   = map[int]bool{} // given out by this process
)

// FreePort returns a free TCP port of 127.0.0.1. It lies below the kernel's range for outgoing connections, so that
// none of them takes it while a server restarts. It is chosen at random, since several processes may be choosing.
func FreePort() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := 10000 + rand.IntN(22000)
		if ports[port] {
			continue
		}
		l, err := net.Listen("tcp", local(port)) //nolint:noctx // does not wait
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			continue
		}
		ports[port] = true
		return port, nil
	}
	return 0, errors.New("find a free port: none of a thousand tried between 10000 and 32000 is")
}

// PortOr returns the port want of 127.0.0.1 if it is free, and a FreePort otherwise or if want is 0.
func PortOr(want int) (int, error) {
	portsMu.Lock()
	given := ports[want]
	portsMu.Unlock()
	if want != 0 && !given {
		if l, err := net.Listen("tcp", local(want)); err == nil { //nolint:noctx // does not wait
			return want, l.Close()
		}
	}
	return FreePort()
}

func freeAddr() (string, error) {
	port, err := FreePort()
	if err != nil {
		return "", err
	}
	return local(port), nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
