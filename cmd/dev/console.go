package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"orderstock/loadtest/stack"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
)

// consolePort is the console's port, if nobody listens on it.
const consolePort = 8090

// startConsole starts a console on addr that watches the stack. It keeps its runs in the folder out of the module.
func startConsole(ctx context.Context, root, dir, addr string, st *stack.Stack) (*servers.Server, program, error) {
	token := rand.Text()
	args := []string{
		"console", "--attach", "--listen", addr, "--out", filepath.Join(root, "out"), "--strategy", st.Strategy(),
		"--zookeeper", st.Servers.ZooKeeper.Addr(), "--zookeeper-root", st.ZooKeeperRoot(),
		"--redis", st.Servers.Redis.Addr(),
	}
	for _, s := range st.Services() {
		args = append(args, "--watch", fmt.Sprintf("%s=%s=http://%s", s.Kind, s.URL(), s.OpsAddr))
	}
	env := []string{"CONSOLE_TOKEN=" + token}
	for name, value := range st.LoadtestEnv() {
		env = append(env, name+"="+value)
	}
	server, err := servers.Start(ctx, servers.Spec{
		Name: "console", Path: filepath.Join(binDir(root), "loadtest"), Args: args, Env: env, Dir: dir, Addr: addr,
		Ready: func(ctx context.Context) error { return httpapi.Healthcheck(ctx, "http://"+addr+"/healthz") },
	})
	return server, program{Name: "console", Addr: addr, URL: "http://" + addr, Token: token}, err
}

// page returns the address that opens the console, or "" if this program is another one.
func (p program) page() string {
	if p.Token == "" {
		return ""
	}
	return strings.TrimSuffix(p.URL, "/") + "/?token=" + p.Token
}
