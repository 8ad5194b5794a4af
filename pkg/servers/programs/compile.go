package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The settings of every compilation. The Makefile, the Dockerfile and .ci/run have the same ones; a test compares them.
// nomsgpack omits a codec of gin that takes a fifth of the whole compile time. -s strips symbols and debug information.
// As the compiler does not make the latter at all, it saves an eighth of its time. Without cgo, it does not matter
// whether the machine has a C compiler.
const (
	Flags = "-buildvcs=false -trimpath -tags=" + tags + " -ldflags=-s -gcflags=all=-dwarf=false"
	CGO   = "CGO_ENABLED=0"
	tags  = "nomsgpack"

	// collector lets the garbage collectors of the go command, of the compiler and of the linker run less often. With
	// an empty cache, the programs are compiled in 7 % less time.
	collector = "GOGC=400"
)

// every is the time between two reports of progress.
const every = 10 * time.Second

// standard are packages that pull in most of the programs' part of the standard library.
var standard = []string{
	"net/http/httputil", "net/http/pprof", "database/sql", "html/template", "encoding/xml", "log/slog",
}

// Source says what to compile, and where to. Root and Bin are required.
type Source struct {
	// Root is the folder of the module, and Bin the folder for the programs.
	Root, Bin string
	// Version is the version that the programs print. If it is empty, they print the one recorded by the Go toolchain.
	Version string
	// Tags are further build tags.
	Tags []string
	// Overlay is the file of "go build -overlay", or empty.
	Overlay string
	// First says that modules may be missing. The standard library is compiled while they are downloaded.
	First bool
	// Progress is called every ten seconds with the number of compiled packages. It may be nil.
	Progress func(doing string)
}

// Compile compiles commands of this module into the folder o.Bin, always with the same flags, so that the compiler's
// cache holds each package once. They are named after their folders in cmd: "order-service". With a
// warm cache this takes a second or two. The error holds the compiler's output.
func Compile(ctx context.Context, o Source, commands ...string) error {
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	link := "-s"
	if o.Version != "" {
		link += " -X orderstock/pkg/command.version=" + o.Version
	}
	flags := []string{"-tags=" + strings.Join(slices.Concat([]string{tags}, o.Tags), ","), "-overlay=" + o.Overlay}
	var paths []string
	for _, c := range commands {
		paths = append(paths, "./cmd/"+c)
	}
	done := counter{looking: o.First}
	stop := report(o.Progress, &done)
	defer stop()

	if o.First {
		err = prepare(ctx, o.Root, &done, slices.Concat(flags, paths))
	}
	if err == nil {
		build := []string{"build", "-v", "-ldflags=" + link, "-o", bin + string(filepath.Separator)}
		err = run(ctx, o.Root, &done, slices.Concat(build, flags, paths)...)
	}
	if err != nil {
		return fmt.Errorf("build %s: %w", strings.Join(commands, ", "), err)
	}
	return nil
}

// prepare downloads the modules of what will be built, and counts the packages. The compiler works on the standard
// library at the same time.
func prepare(ctx context.Context, root string, done *counter, build []string) error {
	compiled := make(chan error, 1)
	go func() { compiled <- run(ctx, root, done, slices.Concat([]string{"build", "-v"}, standard)...) }()
	var all counter
	err := run(ctx, root, &all, slices.Concat([]string{"list", "-deps"}, build)...)
	done.total.Store(all.n.Load())
	if failed := <-compiled; err == nil {
		err = failed
	}
	return err
}

// counter counts lines that name a package, and keeps the others.
type counter struct {
	n, total atomic.Int64
	looking  bool // for modules, until the total is known
}

// run runs the go command in the folder dir with the settings of every compilation. Its output names packages.
func run(ctx context.Context, dir string, packages *counter, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+Flags, CGO, collector)
	out := &lines{packages: packages}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second // a compiler may outlive the go command and hold its output open
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.others.Bytes())
	}
	return nil
}

// lines is a writer that counts the lines that are the path of a package, and keeps the others.
type lines struct {
	packages *counter
	others   bytes.Buffer
	part     []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		if bytes.ContainsAny(line, " :") {
			l.others.Write(append(line, '\n'))
		} else {
			l.packages.n.Add(1)
		}
		l.part = rest
	}
}

// report calls say every ten seconds, until stop is called.
func report(say func(string), done *counter) (stop func()) {
	if say == nil {
		return func() {}
	}
	tick, stopped, ended := time.NewTicker(every), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				say(done.String())
			case <-stopped:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(stopped); <-ended }
}

// String returns the compiler's progress. Cached packages are not counted as compiled: if there are no others, it takes
// the time to compare them with their sources and to link the programs.
func (c *counter) String() string {
	n, total := c.n.Load(), c.total.Load()
	switch {
	case total == 0 && c.looking:
		return fmt.Sprintf("compiled %d packages of the standard library; looking for the modules", n)
	case n == 0:
		return "comparing packages with those compiled before, and linking the programs"
	case total > 0:
		return fmt.Sprintf("compiled %d of %d packages", n, total)
	}
	return fmt.Sprintf("compiled %d packages", n)
}
