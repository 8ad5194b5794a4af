package fire

import (
	"net"

	"golang.org/x/sys/unix"
)

// arrived reports whether all that was written to a connection, which the other side has closed, had arrived there
// before. What arrives later is refused with a reset, or is not acknowledged yet.
func arrived(c *net.TCPConn) bool {
	all := false
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // fails only for a closed connection
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			all = err == nil && info.State != unix.BPF_TCP_CLOSE && info.Unacked == 0 && info.Notsent_bytes == 0
		})
	}
	return all
}
