//go:build cluster

package system

import (
	"context"
	"net"
	"os/exec"
	"testing"
	"time"
)

// A server that is cut off reaches no other and is reached by none; its clients still reach it.
func TestCutOff(t *testing.T) {
	w, err := newNetwork(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(t.Context())
	for i := range 3 { // a server for each: it answers a connection by closing it
		cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", w.namespace(i), "python3", "-c",
			"import socket\ns=socket.socket(); s.bind(('"+w.host(i)+"', 3306)); s.listen()\nwhile True: s.accept()[0].close()")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	}
	between := func(from, to int) bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return exec.CommandContext(ctx, "ip", "netns", "exec", w.namespace(from), "python3", "-c",
			"import socket; socket.create_connection(('"+w.host(to)+"', 3306), 0.5)").Run() == nil
	}
	client := func(to int) bool {
		conn, err := net.DialTimeout("tcp", w.host(to)+":3306", time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	for !client(0) || !client(1) || !client(2) || !between(0, 1) {
		time.Sleep(50 * time.Millisecond) // until they listen; the test's own limit bounds it
	}
	if err := w.routes(t.Context(), 0, "add"); err != nil {
		t.Fatal(err)
	}
	if between(0, 1) || between(1, 0) || between(2, 0) || !between(1, 2) || !client(0) {
		t.Errorf("cut off: 0→1 %t, 1→0 %t, 2→0 %t, 1→2 %t, client→0 %t",
			between(0, 1), between(1, 0), between(2, 0), between(1, 2), client(0))
	}
	if err := w.routes(t.Context(), 0, "del"); err != nil {
		t.Fatal(err)
	}
	for !between(0, 1) || !between(2, 0) {
		time.Sleep(50 * time.Millisecond)
	}
}
