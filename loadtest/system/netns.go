package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"orderstock/pkg/servers"
)

// network gives each MySQL server of a cluster a separate network namespace, so that it can be cut off from the other
// servers and not from its clients. It needs Linux, root, and the program ip. Its methods are for one goroutine.
type network struct {
	name    string // of the bridge, and the beginning of the namespaces' names
	subnet  string
	members int
}

// networkPrefix begins the names of bridges and namespaces. The id of their process follows.
const networkPrefix = "osk"

// newNetwork makes a bridge with n namespaces at it, and removes what processes have left that were killed. Several
// processes may do so at the same time.
func newNetwork(ctx context.Context, n int) (*network, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("make network: cutting a server off needs root")
	}
	turn := flock.New(filepath.Join(os.TempDir(), "orderstock-networks.lock"))
	if _, err := turn.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("make network: %w", err)
	}
	defer func() { _ = turn.Close() }()
	for _, pid := range networks() {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || pid == os.Getpid() {
			(&network{name: networkPrefix + strconv.Itoa(pid), members: mostMembers}).close(ctx)
		}
	}
	return networkOf(ctx, os.Getpid(), n)
}

// mostMembers is the most members that a network may have.
const mostMembers = 9

// networks returns the ids of the processes that have left a bridge or a namespace.
func networks() (pids []int) {
	for _, folder := range []string{"/sys/class/net/", "/run/netns/"} {
		left, _ := filepath.Glob(folder + networkPrefix + "*") // the pattern is right
		for _, path := range left {
			var pid int
			n, _ := fmt.Sscanf(filepath.Base(path), networkPrefix+"%d", &pid)
			if n == 1 && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// freeSubnet returns the beginning of addresses that no interface of this machine has.
func freeSubnet() (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("make network: %w", err)
	}
	for i := range 250 {
		subnet := fmt.Sprintf("10.213.%d.", i)
		if !slices.ContainsFunc(addrs, func(a net.Addr) bool { return strings.HasPrefix(a.String(), subnet) }) {
			return subnet, nil
		}
	}
	return "", errors.New("make network: all networks of 10.213.0.0/16 are in use")
}

// networkOf makes the network of a process.
func networkOf(ctx context.Context, pid, n int) (*network, error) {
	subnet, err := freeSubnet()
	if err != nil {
		return nil, err
	}
	w := &network{name: networkPrefix + strconv.Itoa(pid), subnet: subnet, members: n}
	steps := []string{
		"link add " + w.name + " type bridge",
		"addr add " + w.subnet + "254/24 dev " + w.name,
		"link set " + w.name + " up",
	}
	for i := range n {
		ns, near, far := w.namespace(i), fmt.Sprintf("%sv%d", w.name, i), fmt.Sprintf("%sp%d", w.name, i)
		steps = append(steps,
			"netns add "+ns,
			"link add "+near+" type veth peer name "+far,
			"link set "+far+" netns "+ns,
			"link set "+near+" master "+w.name,
			"link set "+near+" up",
			"-n "+ns+" addr add "+w.host(i)+"/24 dev "+far,
			"-n "+ns+" link set "+far+" up",
			"-n "+ns+" link set lo up",
		)
	}
	for _, step := range steps {
		if err := ip(ctx, step); err != nil {
			w.close(ctx)
			return nil, err
		}
	}
	// A firewall that drops forwarded packets, like Docker's, may drop bridged ones, too. Without iptables there is none.
	_ = exec.CommandContext(ctx, "iptables", "-I", "FORWARD", "-i", w.name, "-o", w.name, "-j", "ACCEPT").Run()
	return w, nil
}

func (w *network) namespace(i int) string { return fmt.Sprintf("%sn%d", w.name, i) }
func (w *network) host(i int) string      { return fmt.Sprintf("%s%d", w.subnet, i+1) }

// options returns the options of MySQL server i.
func (w *network) options(i int) servers.Options {
	return servers.Options{Within: []string{"ip", "netns", "exec", w.namespace(i)}, Addr: w.host(i) + ":3306"}
}

// routes adds or deletes ("add", "del") the routes that drop all packets between server i and the other servers.
func (w *network) routes(ctx context.Context, i int, do string) error {
	var errs []error
	for k := range w.members {
		if k != i {
			errs = append(errs,
				ip(ctx, fmt.Sprintf("-n %s route %s blackhole %s/32", w.namespace(i), do, w.host(k))),
				ip(ctx, fmt.Sprintf("-n %s route %s blackhole %s/32", w.namespace(k), do, w.host(i))))
		}
	}
	return errors.Join(errs...)
}

// close removes the network. Parts that are already gone do not matter.
func (w *network) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for i := range w.members {
		_ = ip(ctx, "netns del "+w.namespace(i))
	}
	_ = ip(ctx, "link del "+w.name)
	_ = exec.CommandContext(ctx, "iptables", "-D", "FORWARD", "-i", w.name, "-o", w.name, "-j", "ACCEPT").Run()
}

func ip(ctx context.Context, args string) error {
	out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make network: ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
	}
	return nil
}
