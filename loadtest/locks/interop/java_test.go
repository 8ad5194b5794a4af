package interop_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	javaFolder  = "/usr/share/java"
	jarPackage  = "libcurator-recipes-java"
	javaPackage = "default-jdk-headless"
	javaProgram = "CuratorContender"
	javaHeap    = "-Xmx256m"
)

// classpath returns the distribution's jars, as it names them.
func classpath(t *testing.T) string {
	t.Helper()
	var jars []string
	for _, name := range []string{
		"curator-recipes", "curator-framework", "curator-client",
		"zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop",
	} {
		jar := filepath.Join(javaFolder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			t.Fatalf("%v: install the package %s", err, jarPackage)
		}
		jars = append(jars, jar)
	}
	return strings.Join(jars, string(filepath.ListSeparator))
}

// compile compiles the contender once for the run and returns the class path to run it with.
func compile(t *testing.T) string {
	t.Helper()
	path := classpath(t)
	compiled.Do(func() {
		javac, err := exec.LookPath("javac")
		if err != nil {
			compileErr = fmt.Errorf("%w: install the package %s", err, javaPackage)
			return
		}
		if classes, compileErr = os.MkdirTemp("", "interop-"); compileErr != nil {
			return
		}
		out, err := exec.CommandContext(t.Context(), javac, "-cp", path, "-d", classes,
			filepath.Join("testdata", javaProgram+".java")).CombinedOutput()
		if err != nil {
			compileErr = fmt.Errorf("compile %s: %w\n%s", javaProgram, err, out)
		}
	})
	if compileErr != nil {
		t.Fatal(compileErr)
	}
	return classes + string(filepath.ListSeparator) + path
}

var (
	compiled   sync.Once
	compileErr error
	classes    string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if classes != "" {
		_ = os.RemoveAll(classes)
	}
	os.Exit(code)
}

// contender is a running process of another language.
type contender struct {
	cmd   *exec.Cmd
	start func()
	lines *bufio.Scanner
}

// startJava starts the process and returns when it is connected. It begins when start is called.
func startJava(t *testing.T, args ...string) *contender {
	t.Helper()
	path := compile(t)
	java, err := exec.LookPath("java")
	if err != nil {
		t.Fatalf("%v: install the package %s", err, javaPackage)
	}
	return startContender(t, java, append([]string{javaHeap, "-cp", path, javaProgram}, args...)...)
}

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
	c := &contender{cmd: cmd, lines: bufio.NewScanner(stdout), start: func() { fmt.Fprintln(stdin) }}
	if !c.lines.Scan() || c.lines.Text() != "READY" {
		t.Fatalf("the other process said %q: %v", c.lines.Text(), cmd.Wait())
	}
	return c
}

// wait returns the process's counts. Each rule that it saw broken fails the test.
func (c *contender) wait(t *testing.T) (acquired, overlapped int) {
	t.Helper()
	done := false
	for c.lines.Scan() {
		line := c.lines.Text()
		if _, err := fmt.Sscanf(line, "DONE acquired=%d overlapped=%d", &acquired, &overlapped); err == nil {
			done = true
		} else {
			t.Errorf("the other process: %s", line)
		}
	}
	if err := c.cmd.Wait(); err != nil || !done {
		t.Errorf("the other process ended: %v", err)
	}
	return acquired, overlapped
}
