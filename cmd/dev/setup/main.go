// Command setup prepares a machine: it installs missing packages while it compiles programs into bin/. It imports only
// the standard library, so that it runs within seconds on a machine that has nothing but Go. The Makefile calls it, in
// the folder of the module.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"orderstock/pkg/servers/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // main
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := setup(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "setup:", err)
		os.Exit(1)
	}
}

// setup installs and compiles at the same time. If the installation fails, it does not wait for the compiler.
func setup(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("setup", flag.ContinueOnError)
	need := flags.String("for", "nothing", "what must be installed afterwards: nothing, servers, curator or tests")
	version := flags.String("version", "", "the version that the programs print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	missing, err := missingFor(ctx, *need)
	if err != nil {
		return err
	}
	begin := time.Now()
	say := func(doing string) { fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(begin).Seconds(), doing) }
	compiling, stop := context.WithCancel(ctx)
	defer stop()
	installed := make(chan error, 1)
	go func() {
		err := programs.Install(ctx, say, missing)
		if err != nil {
			stop()
		}
		installed <- err
	}()
	if flags.NArg() > 0 {
		_, noBin := os.Stat("bin") // if it is there, the modules are, too
		to := programs.Source{Root: ".", Bin: "bin", Version: *version, First: noBin != nil, Progress: say}
		err = programs.Compile(compiling, to, flags.Args()...)
	}
	// An installation goes on to its end: apt-get must not be interrupted.
	if failed := <-installed; failed != nil {
		return failed
	}
	return err
}

// missingFor returns the programs that are missing for a use.
func missingFor(ctx context.Context, use string) ([]*programs.MissingError, error) {
	switch use {
	case "nothing":
		return nil, nil
	case "servers":
		return programs.Missing(), nil
	case "curator":
		return append(programs.Missing(), programs.MissingForCurator()...), nil
	case "tests":
		return append(programs.Missing(), programs.MissingForTests(ctx)...), nil
	}
	return nil, fmt.Errorf("-for %s: want nothing, servers, curator or tests", use)
}
