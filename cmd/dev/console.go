package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"orderstock/loadtest/system"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
)

// consolePort is the console's port, if it is free.
const consolePort = 8090

// newPage returns the future address of the console.
func newPage() (program, error) {
	port, err := servers.PortOr(consolePort)
	if err != nil {
		return program{}, fmt.Errorf("start console: %w", err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return program{Name: "console", Addr: addr, URL: "http://" + addr, Token: rand.Text()}, nil
}

// traced returns the environment that makes a service send the spans of orders with a sampled trace to the console. It
// is empty if the environment of this process configures the export, or turns it off.
func (p program) traced() map[string]string {
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED",
	} {
		if os.Getenv(name) != "" {
			return map[string]string{}
		}
	}
	return map[string]string{
		"CONSOLE_OTLP_ENDPOINT":      p.URL,
		"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20" + p.Token,
	}
}

// startConsole starts a console attached to the stack. It keeps its runs in the folder out of the module.
func startConsole(ctx context.Context, root, dir string, st *system.System, page program) (*servers.Server, error) {
	args := []string{
		"console", "--attach", "--listen", page.Addr, "--out", filepath.Join(root, "out"),
		"--program", ". .run/env && bin/loadtest",
	}
	for _, s := range st.Replicas() {
		args = append(args, "--watch", fmt.Sprintf("%s=%s=http://%s", s.Kind, s.URL(), s.OpsAddr))
	}
	env := system.Assignments(st.LoadtestEnv(), st.ServersEnv(), map[string]string{"CONSOLE_TOKEN": page.Token})
	return servers.Start(ctx, servers.Spec{
		Name: page.Name, Path: filepath.Join(binDir(root), "loadtest"), Args: args, Env: env, Dir: dir,
		Addr:  page.Addr,
		Ready: func(ctx context.Context) error { return httpapi.AskHealth(ctx, page.URL+"/healthz") },
	})
}

// page returns the address that opens the console, or "" for any other program.
func (p program) page() string {
	if p.Token == "" {
		return ""
	}
	return strings.TrimSuffix(p.URL, "/") + "/?token=" + p.Token
}
