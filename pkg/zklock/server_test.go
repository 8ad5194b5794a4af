package zklock_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
	"orderstock/pkg/servers/serverstest"
)

// ownServer is a ZooKeeper server for one test, which may change its data.
type ownServer struct {
	*servers.ZooKeeper
	data string // folder
}

func startServer(t *testing.T, args ...string) *ownServer {
	t.Helper()
	dir := t.TempDir()
	o := servers.Options{Dir: dir, Args: args}
	return &ownServer{serverstest.Start(t, servers.StartZooKeeper, o), filepath.Join(dir, "data")}
}

// change has do change the data while the server is down.
func (s *ownServer) change(t *testing.T, do func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must(t, s.Kill())
	must(t, do())
	must(t, s.Restart(ctx))
}

// startNearEnd starts a server with a node at each of the paths, whose counter of sequential children can give that
// many numbers before its end. Parents come before their children. It needs a Java compiler.
func startNearEnd(t *testing.T, numbers int, paths ...string) *ownServer {
	t.Helper()
	s := startServer(t)
	conn, _, err := zk.Connect([]string{s.Addr()}, 20*time.Second, zk.WithLogInfo(false))
	must(t, err)
	for _, path := range paths {
		must(t, errorOf(conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))))
	}
	conn.Close()
	java, classpath, err := programs.ZooKeeper()
	must(t, err)
	s.change(t, func() error {
		args := append([]string{
			"-cp", classpath, filepath.Join("testdata", "SetChildCounter.java"),
			s.data, strconv.Itoa(math.MaxInt32 - numbers),
		}, paths...)
		out, err := exec.CommandContext(t.Context(), java, args...).CombinedOutput()
		if err != nil {
			return errors.Join(err, errors.New(string(out)))
		}
		return nil
	})
	return s
}

// wipe removes the server's data.
func (s *ownServer) wipe() error { return os.RemoveAll(s.data) }
