package servers

import (
	"net"
	"os/exec"
	"testing"
)

// A port that was given out answers nobody, also while processes are started elsewhere in the program: one that has a
// copy of a listening socket would.
func TestAFreePortAnswersNobody(t *testing.T) {
	t.Parallel()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	starting := make(chan error)
	for range 4 {
		go func() {
			for t.Context().Err() == nil {
				select {
				case starting <- exec.Command("true").Run():
				case <-t.Context().Done():
				}
			}
		}()
	}
	for range 1000 { // processes
		if err := <-starting; err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := bindable(port); err != nil {
				t.Fatal(err)
			}
			if conn, err := net.Dial("tcp", local(port)); err == nil {
				_ = conn.Close()
				t.Fatal("a port that is free is answered")
			}
		}
	}
}
