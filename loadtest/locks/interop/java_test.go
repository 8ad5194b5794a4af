package interop_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"orderstock/pkg/servers/serverstest"
)

const (
	javaFolder  = "/usr/share/java"
	jarPackage  = "libcurator-recipes-java"
	javaPackage = "default-jdk-headless"
	javaHeap    = "-Xmx256m"
)

// classpath returns the distribution's jars, as it names them.
func classpath() (string, error) {
	var jars []string
	for _, name := range []string{
		"curator-recipes", "curator-framework", "curator-client",
		"zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop",
	} {
		jar := filepath.Join(javaFolder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("%w: install the package %s", err, jarPackage)
		}
		jars = append(jars, jar)
	}
	return strings.Join(jars, string(filepath.ListSeparator)), nil
}

// curator is the Java process of all tests, testdata/CuratorContender.java. To compile the class and to load Curator's
// costs more than the tests' work.
type curator struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu       sync.Mutex
	jobs     map[string]chan string // the output by job; closed when the process ends
	over     bool
	numbered int
}

// startCurator starts the process for the server at addr.
func startCurator(addr string) (*curator, error) {
	path, err := classpath()
	if err != nil {
		return nil, err
	}
	for _, program := range []string{"java", "javac"} { // java compiles the class with the other's code
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w: install the package %s", err, javaPackage)
		}
	}
	c := &curator{jobs: map[string]chan string{}}
	c.cmd = exec.Command("java", javaHeap, "-cp", path, filepath.Join("testdata", "CuratorContender.java"), addr)
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(stdout)
	return c, nil
}

func (c *curator) read(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		name, line, _ := strings.Cut(lines.Text(), " ")
		c.mu.Lock()
		said := c.jobs[name]
		c.mu.Unlock()
		if said == nil {
			fmt.Fprintln(os.Stderr, "the Java process:", lines.Text())
			continue
		}
		said <- line
		if strings.HasPrefix(line, "DONE") {
			c.mu.Lock()
			delete(c.jobs, name)
			c.mu.Unlock()
			close(said)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, said := range c.jobs {
		close(said)
	}
}

// job gives the process a job, whose output is said. Its parts are without the name.
func (c *curator) job(parts ...string) (name string, said <-chan string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbered++
	name = fmt.Sprint(c.numbered)
	output := make(chan string, 100)
	if c.over {
		close(output)
		return name, output
	}
	c.jobs[name] = output
	fmt.Fprintln(c.stdin, strings.Join(append([]string{name}, parts...), "\t"))
	return name, output
}

var theCurator struct {
	once    sync.Once
	process *curator
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if c := theCurator.process; c != nil {
		_ = c.stdin.Close()
		_ = c.cmd.Wait() // nothing is left to judge
	}
	os.Exit(code)
}

// contender is contenders of another language, in another process.
type contender struct {
	start func()
	said  <-chan string // its output, closed at its end
	end   func() error  // after that
}

// startJava returns when the job's contenders are connected. They begin when start is called.
func startJava(t *testing.T, job ...string) *contender {
	t.Helper()
	addr := serverstest.ZooKeeper(t).Addr()
	theCurator.once.Do(func() { theCurator.process, theCurator.err = startCurator(addr) })
	if theCurator.err != nil {
		t.Fatal(theCurator.err)
	}
	name, said := theCurator.process.job(job...)
	return (&contender{
		start: func() { fmt.Fprintln(theCurator.process.stdin, name) },
		said:  said, end: func() error { return nil },
	}).ready(t)
}

// startContender starts a process of contenders that are connected when it returns. They begin when start is called.
func startContender(t *testing.T, program string, args ...string) *contender {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	return (&contender{start: func() { fmt.Fprintln(stdin) }, said: said, end: cmd.Wait}).ready(t)
}

func (c *contender) ready(t *testing.T) *contender {
	t.Helper()
	if line := <-c.said; line != "READY" {
		t.Fatalf("the other process said %q", line)
	}
	return c
}

// wait returns the contenders' counts. Each rule that they saw broken fails the test.
func (c *contender) wait(t *testing.T) (acquired, overlapped int) {
	t.Helper()
	done := false
	for line := range c.said {
		if _, err := fmt.Sscanf(line, "DONE acquired=%d overlapped=%d", &acquired, &overlapped); err == nil {
			done = true
		} else {
			t.Errorf("the other process: %s", line)
		}
	}
	if err := c.end(); err != nil || !done {
		t.Errorf("the other process ended: %v", err)
	}
	return acquired, overlapped
}
