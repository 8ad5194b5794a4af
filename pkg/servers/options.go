package servers

import "time"

// Option changes how a server is started.
type Option func(*options)

type options struct {
	addr     string
	args     []string
	config   []string // further lines of zoo.cfg
	slowSync time.Duration
	within   []string

	// name is the server's name; empty: its kind's.
	name string
	// install is the MySQL server to start; nil: the installed one. grouped adds the settings of a group.
	install *mysqlInstall
	grouped bool
}

// newOptions returns the options, with a free address if they have none.
func newOptions(opts ...Option) (o options, err error) {
	for _, opt := range opts {
		opt(&o)
	}
	if o.addr == "" {
		o.addr, err = freeAddr()
	}
	return o, err
}

// WithAddr sets the address to listen on, as host:port. Default: a free port
// of 127.0.0.1. An ensemble ignores it.
func WithAddr(addr string) Option { return func(o *options) { o.addr = addr } }

// WithArgs adds arguments to the server's command line (MySQL, Redis) or to
// the Java virtual machine's (ZooKeeper), after this package's, which they override.
func WithArgs(args ...string) Option { return func(o *options) { o.args = append(o.args, args...) } }

// WithSlowSync makes each write of ZooKeeper to disk take longer by d, in whole milliseconds, on
// Linux. It needs gcc. Default: as long as the disk takes.
func WithSlowSync(d time.Duration) Option { return func(o *options) { o.slowSync = d } }

// WithCommand runs MySQL by another command, such as "ip netns exec name", whose
// further arguments are the server's command line. The command must exec the server, so
// that signals reach it.
func WithCommand(command ...string) Option { return func(o *options) { o.within = command } }
