package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/console"
	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/command/flagset"
	"orderstock/pkg/config"
)

// consoleConfig configures the console.
type consoleConfig struct {
	folders
	Listen    string       `flag:"listen" default:"127.0.0.1:0" help:"address to serve on; one that is not of this machine alone needs --remote"`
	Published string       `flag:"published" help:"host:port that others use to reach --listen; printed instead"`
	Traces    string       `flag:"traces" help:"second address, which only receives the services' spans, from anyone who can reach it"`
	Remote    bool         `flag:"remote" help:"serve other machines, too, under an IP address or a name of --host; needs --token"`
	Hosts     []string     `flag:"host" help:"with --remote: host names of the page"`
	Token     string       `flag:"token" help:"token that opens the page (default CONSOLE_TOKEN or, without it, random)"`
	Attach    bool         `flag:"attach" help:"watch the stack that the environment names, and start none"`
	Watch     flagset.Each `flag:"watch" help:"with --attach: replicas to show, as KIND=URL or KIND=URL=OPS-URL, where KIND is order or stock; a name that has several addresses is as many replicas (default: the services that orders are fired at)"`
	Strategy  string       `flag:"strategy" help:"with --attach: how the stock services deduct, for the verdict and to find the lock's queue (default STOCK_STRATEGY or, without it, {strategy})"`
	Program   string       `flag:"program" default:"bin/loadtest" help:"with --attach: how a shell calls this program, for the commands that the page shows"`
}

func consoleCommand() *cobra.Command {
	where, failed := readSurroundings()
	var cfg consoleConfig
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve a page that shows the stack at work, plays the published faults and breaks things",
		Long: `Serve a page that shows the stack at work, plays the published faults and breaks things.

Without --attach it builds the services with all their broken variants, starts
new MySQL, Redis and ZooKeeper servers and services, and stops them when it
ends. With --attach it watches the stack that the environment names, fires at it
and judges, but breaks nothing.

The last line that it prints when it is ready is CONSOLE: and the address. With
&stage after it, the page is a slide for a room: both sides of a fault next to
each other, played by the keys B and F.`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return failed },
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Token = cmp.Or(config.Trim(cfg.Token), where.ConsoleToken)
			where.Strategy = cmp.Or(cfg.Strategy, where.Strategy)
			return serveConsole(cmd, cfg, where)
		},
	}
	addFlags(cmd.Flags(), &cfg)
	return cmd
}

func serveConsole(cmd *cobra.Command, cfg consoleConfig, where surroundings) (err error) {
	watch, wrong := parseWatched(cfg.Watch)
	if err := cmp.Or(cfg.check(), wrong); err != nil {
		return command.Misuse(err)
	}
	page, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("serve console: %w", err)
	}
	defer func() { _ = page.Close() }() // unless it was served
	var traces net.Listener
	if cfg.Traces != "" {
		if traces, err = new(net.ListenConfig).Listen(cmd.Context(), "tcp", cfg.Traces); err != nil {
			return fmt.Errorf("serve console: %w", err)
		}
		defer func() { _ = traces.Close() }()
	}
	show := func(c *console.Console) error {
		server := console.NewServer(c, console.ServerConfig{Token: cfg.Token, Remote: cfg.Remote, Hosts: cfg.Hosts})
		server.ReceiveTraces(fmt.Sprintf("http://127.0.0.1:%d", page.Addr().(*net.TCPAddr).Port))
		address := func(at string) string { return fmt.Sprintf("http://%s/?token=%s", at, url.QueryEscape(server.Token())) }
		forget, err := keepAddress(cfg.Out, address(page.Addr().String()))
		if err != nil {
			return err
		}
		defer forget()
		sites := map[net.Listener]*http.Server{page: {Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second}}
		if traces != nil {
			sites[traces] = &http.Server{Handler: server.TracesHandler(), ReadTimeout: 10 * time.Second}
		}
		fmt.Fprintln(cmd.OutOrStdout(), "CONSOLE:", address(cmp.Or(cfg.Published, page.Addr().String())))
		return serve(cmd.Context(), c, sites)
	}
	if !cfg.Attach {
		return withLab(cmd, cfg.Bin, func(l *system.System) error {
			c, err := console.Lab(l, cfg.Out)
			if err != nil {
				return err
			}
			return show(c)
		})
	}
	c, err := console.Attach(console.Target{
		Target: where.target(), Databases: where.databases(),
		ZooKeeperRoot: where.ZooKeeperRoot, ZooKeeperAuth: where.ZooKeeperAuth,
		Redis: where.Redis(), Partitions: where.StockPartitions, Watched: watch, Program: cfg.Program,
	}, cfg.Out)
	if err != nil {
		return err
	}
	return show(c)
}

// serve runs the console and its sites until ctx ends or one of them fails.
func serve(ctx context.Context, c *console.Console, sites map[net.Listener]*http.Server) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return c.Run(ctx) })
	for listener, web := range sites {
		all.Go(func() error {
			if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve console: %w", err)
			}
			return nil
		})
		all.Go(func() error {
			<-ctx.Done()
			return web.Close()
		})
	}
	return all.Wait()
}

// keepAddress writes the console's address to the file that "loadtest trace" reads. forget removes it.
func keepAddress(out, address string) (forget func(), err error) {
	file := filepath.Join(out, addressFile)
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("serve console: %w", err)
	}
	return func() {
		if kept, err := os.ReadFile(file); err == nil && string(kept) == address+"\n" { // not another console's
			_ = os.Remove(file)
		}
	}, nil
}

func (c consoleConfig) check() error {
	if err := c.checkAddress("--listen", c.Listen); err != nil {
		return err
	}
	if c.Traces != "" {
		if err := c.checkAddress("--traces", c.Traces); err != nil {
			return err
		}
	}
	if len(c.Hosts) > 0 && !c.Remote {
		return errors.New("--host needs --remote")
	}
	if err := checkStrategy(c.Strategy); err != nil {
		return err
	}
	if err := config.CheckToken("--token", config.Secret(c.Token)); err != nil {
		return err
	}
	if c.Remote && len(c.Token) < 16 {
		return errors.New("--remote needs a --token of at least 16 characters")
	}
	return nil
}

// checkAddress returns an error for an invalid address, or for one that needs --remote.
func (c consoleConfig) checkAddress(flag, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: want host:port", flag, addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s %q: want a port from 0 to 65535", flag, addr)
	}
	if ip := net.ParseIP(host); (ip == nil || !ip.IsLoopback()) && host != "localhost" && !c.Remote {
		return fmt.Errorf("%s %q is not of this machine alone: add --remote and a --token to serve others", flag, addr)
	}
	return nil
}

// parseWatched reads the values of --watch.
func parseWatched(values []string) ([]console.Watched, error) {
	var all []console.Watched
	for _, value := range values {
		parts := strings.SplitN(value, "=", 3)
		if len(parts) < 2 || parts[0] != "order" && parts[0] != "stock" || parts[1] == "" {
			return nil, fmt.Errorf("--watch %q: want order=URL or stock=URL, or either with =OPS-URL behind it", value)
		}
		w := console.Watched{Kind: parts[0], URL: parts[1]}
		if len(parts) == 3 {
			w.Ops = parts[2]
		}
		all = append(all, w)
	}
	return all, nil
}

// folders are for runs that are played, and for the results of tables.
type folders struct {
	Out string `flag:"out" default:"out" help:"folder that keeps the runs, the results, and what failing runs leave behind"`
	Bin string `flag:"bin" default:"bin/faults" help:"folder for the services that can be broken"`
}

// withLab calls do with a new system that can be broken.
func withLab(cmd *cobra.Command, bin string, do func(*system.System) error) error {
	l, err := system.Open(cmd.Context(), system.Config{
		Bin: bin, Breakable: true, Progress: command.Progress(cmd.ErrOrStderr()),
	})
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
