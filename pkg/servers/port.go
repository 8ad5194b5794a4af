package servers

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	portsMu sync.Mutex
	ports   = map[int]bool{} // given out by this process
)

// FreePort returns a free TCP port of 127.0.0.1. It lies below the kernel's range for outgoing connections, so that
// none of them takes it while a server restarts. Several processes may be choosing, and a port is free until its server
// listens: each process takes ports at random from its own part of the range first.
func FreePort() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for try := range 1000 {
		part := 250
		if try >= 500 {
			part = 22000
		}
		port := 10000 + (os.Getpid()*250+rand.IntN(part))%22000
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

// taken reports whether a process of this machine listens on addr. Only an address of this network can be tried. It
// tries for a second: a process that is being started elsewhere in this program has a copy of each socket, also of a
// closed one, until it executes its own program.
func taken(addr string) bool {
	if addr == "" {
		return false
	}
	for range 50 {
		l, err := net.Listen("tcp", addr) //nolint:noctx // does not wait
		if err == nil {
			_ = l.Close() // nothing was accepted
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

func freeAddr() (string, error) {
	port, err := FreePort()
	if err != nil {
		return "", err
	}
	return local(port), nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
