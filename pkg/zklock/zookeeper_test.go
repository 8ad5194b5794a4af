package zklock_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// envServer is the variable that names a running server for the tests, as host:port. It must admit session timeouts
// from one second up, and all four-letter words. Without it they start one, which removes no containers: a test whose
// lock was free when that happened would find another number of requests, or no node.
const envServer = "ZKLOCK_TEST_ZOOKEEPER"

// installation returns Java and the class path of a local ZooKeeper.
func installation() (java, classpath string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("no local ZooKeeper, which this test starts: on Debian or Ubuntu, apt-get install zookeeper "+
				"default-jdk-headless; elsewhere, install Java, unpack https://zookeeper.apache.org/releases.html, and set "+
				"ZOOKEEPER_HOME to its folder. Most tests are content with the address of a server in %s: %w", envServer, err)
		}
	}()
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", err
	}
	home := os.Getenv("ZOOKEEPER_HOME")
	jars, err := filepath.Glob(filepath.Join(home, "lib", "zookeeper-*.jar"))
	if home != "" && err == nil && len(jars) == 0 {
		err = fmt.Errorf("there is no lib/zookeeper-*.jar in %s", home)
	}
	if home != "" {
		return java, filepath.Join(home, "lib", "*"), err
	}
	const debian = "/usr/share/java/"
	_, err = os.Stat(debian + "zookeeper.jar") // names the jars that it needs itself, but for these two
	jars = []string{debian + "zookeeper.jar", debian + "slf4j-simple.jar", debian + "netty-codec.jar"}
	return java, strings.Join(jars, string(filepath.ListSeparator)), err
}

// server is a ZooKeeper server, alone or of an ensemble, that a test may stop, and whose data it may change.
type server struct {
	addr string
	dir  string
	data string // folder

	java      []string
	temporary string // a folder to remove at the end, or ""
	guard     *exec.Cmd
	life      io.Closer
}

// newServer makes a server's files, but does not start it. args are for Java.
func newServer(dir string, config []string, args ...string) (*server, error) {
	java, classpath, err := installation()
	if err != nil {
		return nil, err
	}
	port := freePort()
	s := &server{addr: local(port), dir: dir, data: filepath.Join(dir, "data")}
	config = append([]string{
		"dataDir=" + s.data, "clientPortAddress=127.0.0.1", "clientPort=" + strconv.Itoa(port),
		"tickTime=500", "initLimit=20", "syncLimit=10", "minSessionTimeout=1000", "maxSessionTimeout=60000",
		"maxClientCnxns=0", "admin.enableServer=false", "4lw.commands.whitelist=*", "extendedTypesEnabled=true",
	}, config...)
	file := filepath.Join(dir, "zoo.cfg")
	s.java = append(append([]string{
		java, "-cp", classpath, "-Xmx256m",
		"-Dzookeeper.extendedTypesEnabled=true", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dznode.container.checkIntervalMs=86400000",
	}, args...), "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	return s, errors.Join(os.MkdirAll(s.data, 0o755), os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600))
}

// launch starts the server's process. It is killed with this one, however that ends: a shell waits for the end of its
// standard input.
func (s *server) launch() error {
	const script = `folder=$1 log=$2; shift 2; "$@" </dev/null >>"$log" 2>&1 & read -r _; kill -9 $!; wait
		[ -z "$folder" ] || rm -rf "$folder"`
	s.guard = exec.Command("sh", append([]string{"-c", script, "sh", s.temporary, s.log()}, s.java...)...)
	var err error
	if s.life, err = s.guard.StdinPipe(); err != nil {
		return err
	}
	return s.guard.Start()
}

func (s *server) log() string { return filepath.Join(s.dir, "log") }

func (s *server) logTail() []byte {
	log, _ := os.ReadFile(s.log()) // empty if there is none
	return log[max(0, len(log)-4000):]
}

// kill ends the server's process, if there is one.
func (s *server) kill() {
	if s.guard != nil {
		_ = s.life.Close()
		_ = s.guard.Wait() // killed, so it always fails
		s.guard = nil
	}
}

// awaitReady returns when the server serves.
func (s *server) awaitReady() error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(25 * time.Millisecond) {
		answer, err := command(s.addr, "srvr")
		if err == nil && strings.Contains(answer, "Mode: ") {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s does not serve: %q\n%s", s.addr, answer, s.logTail()), err)
		}
	}
}

// change has do change the data while the server is down.
func (s *server) change(t *testing.T, do func() error) {
	t.Helper()
	s.kill()
	must(t, do())
	must(t, s.launch())
	must(t, s.awaitReady())
}

// wipe removes the server's data.
func (s *server) wipe() error { return os.RemoveAll(s.data) }

// startServer starts a server for one test.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	return startConfigured(t, nil, args...)
}

func startConfigured(t *testing.T, config []string, args ...string) *server {
	t.Helper()
	s, err := newServer(t.TempDir(), config, args...)
	must(t, err)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server's log ends with\n%s", s.logTail())
		}
	})
	must(t, s.launch())
	must(t, s.awaitReady())
	return s
}

// startEnsemble starts three servers.
func startEnsemble(t *testing.T, args ...string) (servers []*server, addrs []string) {
	t.Helper()
	var members []string
	for i := range 3 {
		members = append(members, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, freePort(), freePort()))
	}
	for i := range members {
		s, err := newServer(t.TempDir(), members, args...)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(s.data, "myid"), []byte(strconv.Itoa(i+1)), 0o600))
		t.Cleanup(s.kill)
		must(t, s.launch())
		servers, addrs = append(servers, s), append(addrs, s.addr)
	}
	for _, s := range servers {
		must(t, s.awaitReady())
	}
	return servers, addrs
}

// startNearEnd starts a server with a node at each of the paths, whose counter of sequential children can give that
// many numbers before its end. Parents come before their children. It needs a Java compiler.
func startNearEnd(t *testing.T, numbers int, paths ...string) *server {
	t.Helper()
	s := startServer(t)
	must(t, withConn(s.addr, func(conn *zk.Conn) error {
		for _, path := range paths {
			if _, err := conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
				return err
			}
		}
		return nil
	}))
	s.change(t, func() error {
		args := append([]string{s.data, strconv.Itoa(math.MaxInt32 - numbers)}, paths...)
		return errorOf(runJava(t, "SetChildCounter", args...))
	})
	return s
}

// runJava runs a program of testdata with ZooKeeper's classes, and returns its output.
func runJava(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	java, classpath, err := installation()
	must(t, err)
	args = append([]string{"-cp", classpath, filepath.Join("testdata", program+".java")}, args...)
	cmd := exec.CommandContext(t.Context(), java, args...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, failure.String())
	}
	return string(out), err
}

// freePort returns a port below the usual range for outgoing connections, so that none of them takes it while a server
// is down. It returns none twice, and other test programs, which run at the same time, mostly draw from other 250.
func freePort() int {
	for try := 0; ; try++ {
		part := 250
		if try > 500 {
			part = 22000
		}
		port := 10000 + (os.Getpid()*250+mathrand.IntN(part))%22000
		if _, given := ports.LoadOrStore(port, true); given {
			continue
		}
		if l, err := net.Listen("tcp", local(port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}

var ports sync.Map // that freePort has looked at

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// command sends a four-letter word and returns the answer.
func command(addr, word string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 3*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	_, err = io.WriteString(conn, word)
	answer, e := io.ReadAll(conn)
	return string(answer), cmp.Or(err, e)
}

// shared returns the address of the server that the tests share.
var shared = sync.OnceValues(func() (addr string, err error) {
	if addr := os.Getenv(envServer); addr != "" {
		return addr, nil
	}
	dir, err := os.MkdirTemp("", "zklock-test-")
	if err != nil {
		return "", err
	}
	s, err := newServer(dir, nil)
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	s.temporary = dir
	if err := s.launch(); err != nil {
		return "", err
	}
	lifeline = s
	return s.addr, s.awaitReady()
})

// lifeline keeps the shared server from the garbage collector, which would end it.
var lifeline *server

// zookeeper returns the address of the server that the tests share.
func zookeeper(t testing.TB) string {
	t.Helper()
	addr, err := shared()
	must(t, err)
	return addr
}

// newRoot makes a node for this test, which is deleted at its end with all below it.
func newRoot(t testing.TB) string {
	t.Helper()
	root, remove, err := makeRoot(zookeeper(t))
	must(t, err)
	t.Cleanup(func() { check(t, remove()) })
	return root
}

func makeRoot(addr string) (root string, remove func() error, err error) {
	root = "/test-" + strings.ToLower(rand.Text()[:16])
	err = withConn(addr, func(c *zk.Conn) error {
		return errorOf(c.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))
	})
	return root, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return withConn(addr, func(c *zk.Conn) error { return deleteTree(ctx, c, root) })
	}, err
}

// withConn runs do with a connection of the client library alone.
func withConn(addr string, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		return err
	}
	err = do(c)
	c.Close()
	for range events { // closed when the connection's goroutines have ended
	}
	return err
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// deleteTree deletes path and all nodes below it, also those that appear while it works, for example of sessions that
// are just ending.
func deleteTree(ctx context.Context, c *zk.Conn, path string) error {
	for ctx.Err() == nil {
		children, _, err := c.Children(path)
		if err == nil {
			for _, child := range children {
				if err := deleteTree(ctx, c, path+"/"+child); err != nil {
					return err
				}
			}
			err = c.Delete(path, -1)
		}
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode):
			return nil
		case !errors.Is(err, zk.ErrNotEmpty):
			return err
		}
	}
	return context.Cause(ctx)
}
