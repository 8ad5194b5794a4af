package zktest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Server is a ZooKeeper server that a test may kill. It runs as in production: its log is forced to disk.
type Server struct {
	Addr string // host:port
	Dir  string // its data is in Dir/data

	args  []string
	shell *exec.Cmd
	// lifeline is the standard input of the shell, which kills the server when it ends: that is when this
	// process ends, however it does.
	lifeline io.WriteCloser
}

// startTimeout is how long a start may take, on a machine that is busy.
const startTimeout = time.Minute

// Start starts a server that ends with the test. The arguments are for the Java virtual machine.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := start(ctx, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func start(ctx context.Context, dir string, args ...string) (*Server, error) {
	s := &Server{Addr: freeAddr(ctx), Dir: dir, args: args}
	_, port, _ := net.SplitHostPort(s.Addr)
	config := strings.Join([]string{
		"dataDir=" + filepath.Join(dir, "data"),
		"clientPortAddress=127.0.0.1",
		"clientPort=" + port,
		"tickTime=500", // milliseconds: session timeouts are rounded to multiples of it
		"minSessionTimeout=1000",
		"maxSessionTimeout=60000",
		"maxClientCnxns=0",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
	}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return s, s.Restart(ctx)
}

// freeAddr returns an address on which nobody listens, below the ports of outgoing connections.
func freeAddr(ctx context.Context) string {
	for {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(22000)))
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr); err == nil {
			_ = l.Close() // nothing was written
			return addr
		}
	}
}

// Restart starts the server after Kill, with the same address and data, and returns when it serves.
func (s *Server) Restart(ctx context.Context) error {
	java, classpath, err := Java()
	if err != nil {
		return err
	}
	script := `"$@" >>"$0" 2>&1 & read -r _; kill -9 $!; wait`
	s.shell = exec.CommandContext(context.WithoutCancel(ctx), "sh", append(append([]string{
		"-c", script, filepath.Join(s.Dir, "log"), java, "-cp", classpath, "-Xmx512m",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dznode.container.checkIntervalMs=3600000", // tests count children and requests
	}, s.args...), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.Dir, "zoo.cfg"))...)
	if s.lifeline, err = s.shell.StdinPipe(); err != nil {
		return err
	}
	if err := s.shell.Start(); err != nil {
		return err
	}
	for {
		answer, err := s.Command(ctx, "srvr")
		if strings.Contains(answer, "Mode: ") {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond): // there is no event for it
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.Dir, "log")) // only for the error
			s.Kill()
			return fmt.Errorf("start ZooKeeper: %w: %q, %w\n%s", ctx.Err(), answer, err, log)
		}
	}
}

// Kill kills the server.
func (s *Server) Kill() {
	_ = s.lifeline.Close() // fails the second time
	_ = s.shell.Wait()     // fails because of the kill
}

// Command sends a four-letter word, such as "wchp", and returns the answer.
func (s *Server) Command(ctx context.Context, word string) (string, error) {
	return command(ctx, s.Addr, word)
}

func command(ctx context.Context, addr, word string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // everything has been read by then
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := conn.Write([]byte(word)); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// Java returns the path of Java and the class path of ZooKeeper.
func Java() (java, classpath string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("%w: install default-jre-headless", err)
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return java, filepath.Join(home, "lib", "*"), nil
	}
	const jars = "/usr/share/java/"
	if _, err := os.Stat(jars + "zookeeper.jar"); err != nil { // it names the jars that it needs itself
		return "", "", fmt.Errorf("%w: install Debian's package zookeeper, or set ZOOKEEPER_HOME", err)
	}
	return java, jars + "zookeeper.jar" + string(filepath.ListSeparator) + jars + "slf4j-simple.jar", nil
}

//go:embed SetChildCounter.java
var setChildCounter []byte

// SetChildCounter sets the number that the server gives to the next sequential child of each of the nodes at
// paths, which must exist. It kills the server, changes its data with a program that uses the server's own
// classes, and starts it again. It needs a Java compiler.
func (s *Server) SetChildCounter(ctx context.Context, next int32, paths ...string) error {
	java, classpath, err := Java()
	if err != nil {
		return err
	}
	s.Kill()
	source := filepath.Join(s.Dir, "SetChildCounter.java")
	if err := os.WriteFile(source, setChildCounter, 0o600); err != nil {
		return err
	}
	args := append([]string{"-cp", classpath, source, filepath.Join(s.Dir, "data"), strconv.Itoa(int(next))}, paths...)
	if out, err := exec.CommandContext(ctx, java, args...).CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(bytes.TrimSpace(out))))
	}
	return s.Restart(ctx)
}

// StartNearEnd starts a server with a node at each of the paths, whose counter of sequential children can give that
// many numbers before its end. Parents come before their children. It needs a Java compiler.
func StartNearEnd(t testing.TB, numbers int32, paths ...string) *Server {
	t.Helper()
	s := Start(t)
	conn, _, err := zk.Connect([]string{s.Addr}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	if err := s.SetChildCounter(t.Context(), math.MaxInt32-numbers, paths...); err != nil {
		t.Fatal(err)
	}
	return s
}
