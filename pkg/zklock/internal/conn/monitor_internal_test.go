package conn

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that closes a connection before the client's connect returns is named as one that ends it at once.
func TestConnectionThatEndsWhileItIsMade(t *testing.T) {
	for _, cause := range []error{syscall.EPIPE, syscall.ECONNRESET} {
		m := NewMonitor(func(network, _ string, _ time.Duration) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: cause}
		})
		_, err := m.Dial("tcp", "server:2181", time.Second)
		if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") {
			t.Errorf("%v: Dial says %v", cause, err)
		}
	}
}
