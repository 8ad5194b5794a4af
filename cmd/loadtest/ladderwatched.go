package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"orderstock/loadtest/console"
	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/stack"
)

func watchedCommand(f *ladderFlags) *cobra.Command {
	var clients, pairs int
	c := &cobra.Command{
		Use:   "watched",
		Short: "Measure the cost of a watching console",
		Long: `Measures what the console costs the stack that it watches: whole orders under
the default strategy on one hot product, in pairs of turns on the same services,
one alone and one with a console and an open page.

Writes out/ladder-watched.json.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if clients < 1 || pairs < 2 {
				return errors.New("at least one client and two pairs are needed")
			}
			return f.onServers(c, func(cfg ladder.Config) error {
				w, err := ladder.MeasureWatched(c.Context(), cfg, clients, pairs, watchAsPage)
				if err != nil {
					return err
				}
				return errors.Join(history.SaveJSON(filepath.Join(f.out, "ladder-watched.json"), w), failed(w.Judge(f.check)))
			})
		},
	}
	c.Flags().IntVar(&clients, "clients", 256, "concurrent clients")
	c.Flags().IntVar(&pairs, "pairs", 15, "pairs of turns")
	return c
}

// watchAsPage attaches a console to the stack and reads its events, like an open page.
func watchAsPage(ctx context.Context, st *stack.Stack) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "orderstock-watched-")
	if err != nil {
		return nil, fmt.Errorf("watch the stack: %w", err)
	}
	target := console.Target{
		Target: st.Target(), Databases: st.Databases(), ZooKeeper: strings.Split(st.Servers.ZooKeeper.Addr(), ","),
		ZooKeeperRoot: st.ZooKeeperRoot(), Redis: redis.UniversalOptions{Addrs: []string{st.Servers.Redis.Addr()}},
		Strategy: st.Strategy(),
	}
	for _, s := range st.Services() {
		target.Watched = append(target.Watched, console.Watched{
			Kind: string(s.Kind), URL: s.URL(), Ops: "http://" + s.OpsAddr,
		})
	}
	c, err := console.Attach(target, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch the stack: %w", err), os.RemoveAll(dir))
	}
	ctx, cancel := context.WithCancel(ctx)
	ran, read := make(chan error, 1), make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	server := console.NewServer(c, console.ServerConfig{})
	web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(listener) }() // ends with Close
	stop = func() error {
		cancel()
		return errors.Join(<-ran, <-read, web.Close(), os.RemoveAll(dir))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/api/events", nil)
	if err != nil {
		read <- nil
		return nil, errors.Join(err, stop())
	}
	req.Header.Set("Authorization", "Bearer "+server.Token())
	resp, err := http.DefaultClient.Do(req) //nolint:bodyclose // the reader below closes it
	if err != nil {
		read <- nil
		return nil, errors.Join(err, stop())
	}
	go func() {
		_, _ = io.Copy(io.Discard, resp.Body) // ends with the console
		read <- resp.Body.Close()
	}()
	return stop, nil
}
