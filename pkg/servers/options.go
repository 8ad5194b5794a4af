package servers

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// Options say how a server is started. Only Dir is required.
type Options struct {
	// Dir is the folder of the server's data and log. Several servers each have a folder in it.
	Dir string
	// Name is the server's name in errors and file names. Default: its kind.
	Name string
	// Addr is the address to listen on, as host:port. Default: a free port of 127.0.0.1. An ensemble ignores it.
	Addr string
	// Args are added to the server's command line (MySQL, Redis) or to the Java virtual machine's (ZooKeeper), after
	// this package's, which they override.
	Args []string
	// SlowSync makes each write of ZooKeeper to disk take longer, by whole milliseconds, on Linux. It needs gcc.
	SlowSync time.Duration
	// Within is a command that runs MySQL, such as "ip netns exec name". Its further arguments are the server's command
	// line. It must exec the server, so that signals reach it.
	Within []string
	// Program is the MySQL server to start. Default: the installed one.
	Program *MySQLProgram

	id      int      // of a member of an ensemble
	config  []string // further lines of zoo.cfg
	grouped bool     // with the settings of a group of MySQL servers
}

// complete sets the defaults, and makes the folder absolute.
func (o Options) complete(kind string) (_ Options, err error) {
	o.Name = cmp.Or(o.Name, kind)
	if o.Addr == "" {
		if o.Addr, err = freeAddr(); err != nil {
			return o, err
		}
	}
	o.Dir, err = filepath.Abs(o.Dir)
	return o, err
}

// start completes the options, makes the server's files by prepare, which says how to run it, and starts it.
func (o Options) start(
	ctx context.Context, kind string, prepare func(Options, context.Context) (Spec, error),
) (*Server, error) {
	o, err := o.complete(kind)
	var spec Spec
	if err == nil {
		spec, err = prepare(o, ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	spec.Name, spec.Dir, spec.Addr = o.Name, o.Dir, o.Addr
	return Start(ctx, spec)
}
