package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/console"
	"orderstock/loadtest/stack"
	"orderstock/pkg/redisdb"
)

// watchAsPage attaches a console to the stack and reads its events, like an open page.
func watchAsPage(ctx context.Context, st *stack.Stack) (stop func() error, err error) {
	dir, err := os.MkdirTemp("", "orderstock-watched-")
	if err != nil {
		return nil, fmt.Errorf("watch the stack: %w", err)
	}
	target := console.Target{
		Target: st.Target(), Databases: st.Databases(), ZooKeeper: []string{st.Servers.ZooKeeper.Addr()},
		ZooKeeperRoot: st.ZooKeeperRoot(), Redis: redisdb.Server{Addrs: []string{st.Servers.Redis.Addr()}},
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
	ctx, cancel := context.WithCancel(ctx)
	server := console.NewServer(c, console.ServerConfig{})
	web := httptest.NewServer(server.Handler())
	var both errgroup.Group
	both.Go(func() error { return c.Run(ctx) })
	both.Go(func() error { return readEvents(ctx, web.URL, server.Token()) })
	return func() error {
		cancel()
		err := both.Wait()
		web.Close()
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}

// readEvents reads the console's events until ctx ends.
func readEvents(ctx context.Context, address, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("watch the stack: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("watch the stack: %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // ends with ctx
	return nil
}
