package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/stack"
)

// restartLimit bounds a restart: the stop and the wait until the service is ready.
const restartLimit = time.Minute

func restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "Stop a service that up left running, such as stock-1, if it lives, and start it again",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := stack.ModuleRoot()
			if err != nil {
				return err
			}
			if _, err := readState(runDir(root)); err != nil {
				return err
			}
			if err := askHolder(cmd.Context(), runDir(root), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), args[0]+" is ready")
			return err
		},
	}
}

// socketPath is relative to the working directory if possible: the path of a socket may have at most 107 bytes.
func socketPath(dir string) string {
	path := filepath.Join(dir, "control.sock")
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && len(short) < len(path) {
			return short
		}
	}
	return path
}

// restarter is a service that can be restarted; a *stack.Service.
type restarter interface {
	Name() string
	Restart(ctx context.Context) error
}

// serveRestarts answers restart requests until it is stopped. Only the user of this process can reach the socket: its
// folder has mode 0700.
func serveRestarts[S restarter](ctx context.Context, dir string, services []S) (stop func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socketPath(dir))
	if err != nil {
		return nil, fmt.Errorf("listen for restarts: %w", err)
	}
	var one sync.Mutex // allows one restart at a time
	server := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			var names []string
			for _, s := range services {
				if names = append(names, s.Name()); s.Name() != r.FormValue("name") {
					continue
				}
				ctx, cancel := context.WithTimeout(ctx, restartLimit)
				defer cancel()
				if err := s.Restart(ctx); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
				return
			}
			http.Error(w, fmt.Sprintf("no service %q; there are %s", r.FormValue("name"), strings.Join(names, ", ")),
				http.StatusNotFound)
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() error {
		err := server.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}

// askHolder asks the holder of the stack to restart the service of that name.
func askHolder(ctx context.Context, dir, name string) error {
	ctx, cancel := context.WithTimeout(ctx, restartLimit+5*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socketPath(dir))
		},
	}}
	form := strings.NewReader(url.Values{"name": {name}}.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://holder/restart", form)
	if err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		return errors.Join(fmt.Errorf("restart %s: %s", name, strings.TrimSpace(string(text))), err)
	}
	return nil
}
