package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
		if err := bindable(port); err != nil {
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
	if want != 0 && !given && bindable(want) == nil {
		return want, nil
	}
	return FreePort()
}

// bindable returns an error if a process has the TCP port of 127.0.0.1. A process that is being started elsewhere in
// this program gets no copy of the socket. With one, it would seem to have the port until it executes its own program.
func bindable(port int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("try port %d: %w", port, err)
	}
	err = errors.Join(unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), // as servers do
		unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	return errors.Join(err, unix.Close(socket))
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
