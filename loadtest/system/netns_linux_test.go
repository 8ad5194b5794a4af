package system

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNetworksOfDeadProcessesAreRemoved, with their rules of the firewall, and those of live ones keep their addresses.
// It needs root, as the networks do.
func TestNetworksOfDeadProcessesAreRemoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: a network is refused")
		if _, err := newNetwork(t.Context(), 1); err == nil {
			t.Error("a network without root")
		}
		return
	}
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	live := exec.CommandContext(t.Context(), "sleep", "60")
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = live.Process.Kill(), live.Wait() }()
	left, err := networkOf(t.Context(), dead.Process.Pid, 1) // as a process that was killed leaves it
	if err != nil {
		t.Fatal(err)
	}
	others, err := networkOf(t.Context(), live.Process.Pid, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer others.close(t.Context())
	own, err := newNetwork(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer own.close(t.Context())
	if own.subnet == others.subnet {
		t.Errorf("two networks have the addresses %s", own.subnet)
	}
	if _, err := net.InterfaceByName(left.name); err == nil {
		t.Errorf("the bridge %s of a dead process is left", left.name)
	}
	if _, err := net.InterfaceByName(others.name); err != nil {
		t.Errorf("the bridge %s of a live process: %v", others.name, err)
	}
	for program, arg := range map[string]string{"ip": "netns", "iptables": "-S"} {
		out, err := exec.CommandContext(t.Context(), program, arg).CombinedOutput()
		if err != nil {
			t.Logf("%s %s: %v", program, arg, err)
			continue
		}
		if strings.Contains(string(out), left.name) {
			t.Errorf("%s %s still names %s:\n%s", program, arg, left.name, out)
		}
	}
	if name := fmt.Sprintf("osk%d", os.Getpid()); own.name != name {
		t.Errorf("the network is called %s, want %s", own.name, name)
	}
}
