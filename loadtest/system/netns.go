package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"orderstock/pkg/servers"
)

// network gives each MySQL server of a cluster a separate network namespace, so that it can be cut off from the other
// servers and not from its clients. It needs Linux, root, and the program ip. Its methods are for one goroutine.
type network struct {
	name    string // of the bridge, and the beginning of the namespaces' names
	subnet  string
	members int
}

// newNetwork makes a bridge with n namespaces at it.
func newNetwork(ctx context.Context, n int) (*network, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("make network: cutting a server off needs root")
	}
	id := os.Getpid()
	w := &network{name: fmt.Sprintf("osk%d", id%100000), subnet: fmt.Sprintf("10.213.%d.", id%250), members: n}
	w.close(ctx) // remove the network left by an earlier process of the same id
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

// cut drops all packets between server i and the other servers.
func (w *network) cut(ctx context.Context, i int) error { return w.routes(ctx, i, "add") }

// mend ends cut.
func (w *network) mend(ctx context.Context, i int) error { return w.routes(ctx, i, "del") }

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
