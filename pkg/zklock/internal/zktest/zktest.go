package zktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"orderstock/pkg/zklock/internal/memory"
)

// Env is the environment variable that names the server; see the package's documentation. Memory is its
// value for one in memory.
const (
	Env    = "ZKLOCK_TEST_ZOOKEEPER"
	Memory = "memory"
)

// shared returns the address of the server that the tests share.
var shared = sync.OnceValues(func() (addr string, err error) {
	switch addr := os.Getenv(Env); addr {
	case "":
	case Memory:
		return memory.New().Listen()
	default:
		return addr, nil
	}
	dir, err := os.MkdirTemp("", "zklock-test-")
	if err != nil {
		return "", err
	}
	// A test process has no hook that runs at its end in every case, so a shell waits for the end of its input.
	sweep := exec.Command("sh", "-c", `read -r _; sleep 0.2; rm -rf "$0" || { sleep 2; rm -rf "$0"; }`, dir)
	if lifeline, err = sweep.StdinPipe(); err != nil {
		return "", err
	}
	if err := sweep.Start(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout) //nolint:forbidigo // outlives the test
	defer cancel()
	if sharedServer, err = start(ctx, filepath.Clean(dir)); err != nil {
		return "", err
	}
	return sharedServer.Addr, nil
})

// The garbage collector would close the shells' inputs.
var (
	lifeline     interface{ Close() error } //nolint:unused // held, not used
	sharedServer *Server
)

// Addr returns the address of the run's server, host:port.
func Addr(t testing.TB) string {
	t.Helper()
	addr, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Command sends a four-letter word to the run's server. One in memory knows "wchp" only.
func Command(t testing.TB, word string) string {
	t.Helper()
	answer, err := command(t.Context(), Addr(t), word)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Second is a second run of the test program's tests and examples, on a server in memory. It is for TestMain.
type Second struct {
	cmd *exec.Cmd
	out bytes.Buffer
	err error // of the start
}

// Again returns a second run, without the tests of the given names: these are about ZooKeeper itself.
func Again(but ...string) *Second {
	skip := "^(" + strings.Join(append(but, "TestInMemory"), "|") + ")$"
	ctx := context.Background() //nolint:forbidigo // the run's own
	s := &Second{cmd: exec.CommandContext(ctx, os.Args[0], "-test.skip", skip, "-test.timeout=10m")}
	s.cmd.Env = append(os.Environ(), Env+"="+Memory)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	return s
}

// Begin begins the second run in parallel with the first, for TestMain, unless only some tests are to run.
func (s *Second) Begin() {
	flag.Parse()
	for _, some := range []string{"test.run", "test.list", "test.bench", "test.fuzz"} {
		if flag.Lookup(some).Value.String() != "" {
			return
		}
	}
	if os.Getenv(Env) != Memory {
		s.begin()
	}
}

func (s *Second) begin() {
	s.cmd.Args = append(s.cmd.Args, fmt.Sprintf("-test.short=%t", testing.Short()))
	s.err = s.cmd.Start()
}

// Check waits for the second run and fails the test, TestInMemory, if it failed.
func (s *Second) Check(t *testing.T) {
	t.Helper()
	if s.cmd.Process == nil && s.err == nil {
		s.begin()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("on a server in memory: %v\n%s", err, s.out.String())
	}
}

// Goroutines makes goleak overlook the goroutines of a server in memory.
func Goroutines() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("orderstock/pkg/zklock/internal/memory.(*Server).Listen.func1"),
		goleak.IgnoreAnyFunction("orderstock/pkg/zklock/internal/memory.(*conn).read"),
		goleak.IgnoreAnyFunction("orderstock/pkg/zklock/internal/memory.(*conn).write"),
	}
}

// Root makes an empty node "/test-…" on the run's server and returns its path. It is deleted with all below
// it at the test's end.
func Root(t testing.TB) string {
	t.Helper()
	root := "/test-" + strings.ToLower(rand.Text()[:16])
	c, events, err := zk.Connect([]string{Addr(t)}, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(root, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("make ZooKeeper node %s: %v", root, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := deleteTree(ctx, c, root); err != nil {
			t.Errorf("delete %s: %v", root, err)
		}
		c.Close()
		for range events { // closed when the connection's goroutines have ended
		}
	})
	return root
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// deleteTree deletes path and all nodes below it, also nodes that appear while it works, for example from
// sessions that are just ending.
func deleteTree(ctx context.Context, c *zk.Conn, path string) error {
	for ctx.Err() == nil {
		children, _, err := c.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := deleteTree(ctx, c, path+"/"+child); err != nil {
				return err
			}
		}
		if err = c.Delete(path, -1); err == nil || !errors.Is(err, zk.ErrNotEmpty) {
			if errors.Is(err, zk.ErrNoNode) {
				err = nil
			}
			return err
		}
	}
	return ctx.Err()
}

// Example returns a testing.TB for the functions that an example calls, as it has none, and a function that
// runs its cleanups. A failure panics.
func Example() (tb testing.TB, end func()) {
	e := &example{}
	return e, e.end
}

// example takes the place of the test.
type example struct {
	testing.TB
	undo []func()
}

func (*example) Helper()                   {}
func (*example) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (*example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*example) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*example) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (*example) Context() context.Context  { return context.Background() } //nolint:forbidigo // as long as the example
func (e *example) Cleanup(f func())        { e.undo = append(e.undo, f) }

func (e *example) end() {
	for i := range e.undo {
		e.undo[len(e.undo)-1-i]()
	}
}
