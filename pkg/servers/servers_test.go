package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
)

// TestKeepsDataOverKillAndRestart kills each server right after a write was
// acknowledged: durable means that it is there afterwards.
func TestKeepsDataOverKillAndRestart(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		s := start(t, servers.StartMySQL, servers.Options{Args: []string{"--innodb-buffer-pool-size=64M"}})
		if err := s.Exec(t.Context(),
			"CREATE DATABASE d", "CREATE TABLE d.t (n INT)", "INSERT INTO d.t VALUES (7)"); err != nil {
			t.Fatal(err)
		}
		killAndRestart(t, s.Server)
		db, err := sql.Open("mysql", s.AdminDSNFor("d"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 7 {
			t.Errorf("after a kill the row reads %d, %v; want 7", n, err)
		}
		for name, want := range map[string]string{
			"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "log_bin": "ON", "binlog_format": "ROW",
			"character_set_server": "utf8mb4",
		} {
			var key, value string
			if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL VARIABLES LIKE '"+name+"'").
				Scan(&key, &value); err != nil || value != want {
				t.Errorf("%s = %q, %v; want %q", name, value, err, want)
			}
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := start(t, servers.StartRedis, servers.Options{Args: []string{"--appendfsync", "always"}})
		c := redisdb.Open(redisdb.Server{Addrs: []string{s.Addr()}}, 5*time.Second)
		defer func() { _ = c.Close() }()
		if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		killAndRestart(t, s.Server)
		if v, err := c.Get(t.Context(), "k").Result(); err != nil || v != "v" {
			t.Errorf("after a kill the key reads %q, %v; want v", v, err)
		}
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		s := start(t, servers.StartZooKeeper, servers.Options{})
		c := connect(t, s.Addr(), 20*time.Second)
		if _, err := c.Create("/n", []byte("v"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		killAndRestart(t, s.Server)
		if v, _, err := connect(t, s.Addr(), 20*time.Second).Get("/n"); err != nil || string(v) != "v" {
			t.Errorf("after a kill the node reads %q, %v; want v", v, err)
		}
	})
}

func killAndRestart(t *testing.T, s *servers.Server) {
	t.Helper()
	addr, pid := s.Addr(), s.Pid()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if s.Running() || syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d lives after Kill", pid)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Addr() != addr {
		t.Errorf("address after the restart %s, want %s", s.Addr(), addr)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Errorf("restart a running server: %v", err)
	}
}

func TestSlowSync(t *testing.T) {
	t.Parallel()
	const slow = 200 * time.Millisecond
	s := start(t, servers.StartZooKeeper, servers.Options{SlowSync: slow})
	c := connect(t, s.Addr(), 10*time.Second)
	begin := time.Now()
	if _, err := c.Create("/slow", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < slow {
		t.Errorf("a create took %s, want %s at least", took, slow)
	}
}

// TestZooKeeperAdmitsTheTestsFeatures checks the settings that tests of locks rest on.
func TestZooKeeperAdmitsTheTestsFeatures(t *testing.T) {
	t.Parallel()
	s := start(t, servers.StartZooKeeper, servers.Options{Args: []string{"-Dznode.container.checkIntervalMs=200"}})
	connect(t, s.Addr(), time.Second) // again, whenever the server is slower than that
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		answer, err := s.Command(t.Context(), "cons")
		if err == nil && strings.Contains(answer, ",to=1000,") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("cons answers %q, %v; want a session of 1000 ms", answer, err)
		}
	}
	c := connect(t, s.Addr(), 20*time.Second)
	if _, err := c.CreateTTL("/ttl", nil, zk.FlagTTL, zk.WorldACL(zk.PermAll), time.Minute); err != nil {
		t.Errorf("create a TTL node: %v", err)
	}
	if _, err := c.CreateContainer("/box", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create("/box/x", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, _, gone, err := c.ExistsW("/box")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete("/box/x", -1); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-gone:
		if e.Type != zk.EventNodeDeleted {
			t.Errorf("event on the container: %v", e)
		}
	case <-time.After(time.Minute):
		t.Error("an emptied container was not deleted in a minute")
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	s := start(t, servers.StartRedis, servers.Options{})
	c := redisdb.Open(redisdb.Server{Addrs: []string{s.Addr()}}, 200*time.Millisecond)
	defer func() { _ = c.Close() }()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a paused server answers")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	patient := redisdb.Open(redisdb.Server{Addrs: []string{s.Addr()}}, 20*time.Second)
	defer func() { _ = patient.Close() }()
	if err := patient.Ping(t.Context()).Err(); err != nil {
		t.Errorf("a resumed server does not answer: %v", err)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop a paused server: %v", err)
	}
	if err := s.Pause(); err == nil {
		t.Error("pausing a stopped server is no error")
	}
}

func TestEnsembleGoesOnWithoutItsLeader(t *testing.T) {
	t.Parallel()
	e, err := servers.StartEnsemble(t.Context(), 3, servers.Options{Dir: t.TempDir(), Args: []string{"-Xmx128m"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, e.Stop) })
	leader, err := e.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Follower(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := connect(t, e.Addr(), 10*time.Second)
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		_, err := c.Create("/after", nil, 0, zk.WorldACL(zk.PermAll))
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("two minutes after the leader's death a create fails: %v", err)
		}
	}
	if err := leader.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mode, err := leader.Mode(t.Context()); err != nil || mode != "follower" {
		t.Errorf("the old leader comes back as %q, %v; want follower", mode, err)
	}
}

func TestStartFailureShowsTheLog(t *testing.T) {
	t.Parallel()
	_, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir(), Args: []string{"--no-such-setting", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("error %v; want one with the log's word on no-such-setting", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = servers.Start(ctx, servers.Spec{
		Name: "mute", Path: "/bin/sleep", Args: []string{"60"}, Dir: t.TempDir(),
		Ready: func(context.Context) error { return errors.New("deaf") },
	})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "deaf") {
		t.Errorf("a server that never answers: %v; want a deadline exceeded with the last answer", err)
	}
}

// TestAStrangersAnswerIsNotReadiness: neither one who holds the port, nor one who takes it as the process ends.
func TestAStrangersAnswerIsNotReadiness(t *testing.T) {
	t.Parallel()
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	answers := func(context.Context) error { return nil }
	for want, spec := range map[string]servers.Spec{
		"another process listens": {Args: []string{"-c", "sleep 60"}, Addr: stranger.Addr().String(), Ready: answers},
		"the process ended": {
			Args: []string{"-c", "exit 1"}, Ready: func(ctx context.Context) error { <-ctx.Done(); return nil },
		},
	} {
		spec.Name, spec.Path, spec.Dir = "guest", "/bin/sh", t.TempDir()
		if s, err := servers.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
			_ = s.Kill()
		}
	}
}

// A socket that is only held until another process has started is no stranger's.
func TestACopiedSocketIsNoStranger(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = l.Close() })
	s, err := servers.Start(t.Context(), servers.Spec{
		Name: "host", Path: "/bin/sh", Args: []string{"-c", "sleep 60"}, Dir: t.TempDir(), Addr: l.Addr().String(),
		Ready: func(context.Context) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Kill()
}

func TestStopTellsOfABadEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(name, script string) *servers.Server {
		t.Helper()
		s, err := servers.Start(t.Context(), servers.Spec{
			Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir,
			Ready: func(context.Context) error { _, err := os.Stat(filepath.Join(dir, name+".up")); return err },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := run("bad", `trap "exit 3" TERM; : >bad.up; while :; do sleep 0.05; done`).Stop(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("stop of a process that exits with 3: %v", err)
	}
	deaf := run("deaf", `trap "" TERM; : >deaf.up; while :; do sleep 0.05; done`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := deaf.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop of a process that is deaf to SIGTERM: %v; want a deadline exceeded", err)
	}
	if deaf.Running() {
		t.Error("a process that is deaf to SIGTERM lives on after Stop")
	}
}

func TestPortOrTakesThePortThatIsFree(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	want := l.Addr().(*net.TCPAddr).Port
	if port, err := servers.PortOr(want); err != nil || port == want {
		t.Errorf("port %d, %v, while another listens there", port, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if port, err := servers.PortOr(want); err != nil || port != want {
		t.Errorf("port %d, %v; want %d, which is free", port, err, want)
	}
	if port, err := servers.PortOr(0); err != nil || port == 0 {
		t.Errorf("port %d, %v; want a free one", port, err)
	}
}

// TestMissingProgram runs with a PATH and a home of ZooKeeper that hold nothing.
func TestMissingProgram(t *testing.T) {
	t.Setenv("ZOOKEEPER_HOME", "")
	t.Setenv("PATH", t.TempDir())
	_, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()})
	missing, ok := errors.AsType[*programs.MissingError](err)
	if !ok || len(missing.Packages) != 1 || missing.Packages[0] != "redis-server" ||
		!strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error %v; want a MissingError that says apt-get install redis-server", err)
	}
	if _, err := servers.StartZooKeeper(t.Context(), servers.Options{Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install zookeeper default-jre-headless") {
		t.Errorf("without Java: %v; want all that ZooKeeper needs", err)
	}
	if got := programs.Missing(); len(got) < 2 {
		t.Errorf("Missing() = %v; want Redis and Java among it", got)
	}
	var tools []string
	for _, m := range programs.MissingForTests(t.Context()) {
		tools = append(tools, m.Program)
	}
	for _, want := range []string{
		"make", "gcc", "javac", "prometheus", "chromium or chromium-headless-shell or google-chrome",
	} {
		if !slices.Contains(tools, want) {
			t.Errorf("the tests miss %q; want %s among it", tools, want)
		}
	}
}

// TestServersDieWithTheirProcess kills a process that started a server.
func TestServersDieWithTheirProcess(t *testing.T) {
	if dir := os.Getenv("SERVERS_TEST_CHILD"); dir != "" {
		s, err := servers.StartRedis(t.Context(), servers.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid=%d\n", s.Pid())
		select {}
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestServersDieWithTheirProcess$")
	cmd.Env = append(os.Environ(), "SERVERS_TEST_CHILD="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "pid=%d\n", &pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for deadline := time.Now().Add(time.Minute); alive(pid); {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("server %d outlives the process that started it by a minute", pid)
		}
		time.Sleep(10 * time.Millisecond) // there is no event for the end of another's child
	}
}

// alive reports whether the process exists and is more than a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// start starts a server in a folder of the test's and stops it at the end.
func start[S interface{ Stop(context.Context) error }](
	t *testing.T, do func(context.Context, servers.Options) (S, error), o servers.Options,
) S {
	t.Helper()
	o.Dir = t.TempDir()
	s, err := do(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s.Stop) })
	return s
}

func stop(t *testing.T, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := do(ctx); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, addrs string, timeout time.Duration) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect(strings.Split(addrs, ","), timeout, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestPauseReturnsOnceNothingRuns pauses a server of many threads again and
// again: SIGSTOP alone returns while some of them still run.
func TestPauseReturnsOnceNothingRuns(t *testing.T) {
	t.Parallel()
	s := start(t, servers.StartZooKeeper, servers.Options{Args: []string{"-Xmx64m"}})
	for range 20 {
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.Pid()))
		if err != nil || len(threads) < 10 {
			t.Fatalf("%d threads, %v; want a server of many", len(threads), err)
		}
		for _, file := range threads {
			if stat, err := os.ReadFile(file); err == nil && !strings.Contains(string(stat), ") T ") {
				t.Fatalf("a thread of a paused server is not stopped: %.60s", stat)
			}
		}
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Mode(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
