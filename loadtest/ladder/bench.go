// Package ladder measures variants of the services against each other: the deduction strategies, or two builds or
// settings. Only ratios between rows of one run mean anything; the
// absolute figures are the machine's.
//
// Each row is a trial.Experiment, and the rows of a load are a trial.Suite with turns: the systems run at once, each
// with its own databases on the same servers.
package ladder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// Config configures the measurements.
type Config struct {
	// Warmup is sent and judged before each turn, but not measured. Measure is the measured time of each turn.
	Warmup, Measure time.Duration
	// CommitDelay is how long the database server delays each commit, like a replicated primary: up to a second, MySQL's
	// limit.
	CommitDelay time.Duration
	// Seed is the seed of every load; 0: each has a random one.
	Seed uint64
	// Progress, if not nil, gets a description of each step.
	Progress func(doing string)

	// Servers serve every row. Bin is the folder of the services' programs, and Dir the folder of the run's logs.
	// OnServers sets them.
	Servers  *system.Servers
	Bin, Dir string

	mysql  servers.Options           // of Servers.MySQL
	builds map[string]*servers.MySQL // of other builds, which may have other tables, by the name of the experiment
}

func (cfg Config) say(format string, args ...any) {
	if cfg.Progress != nil {
		cfg.Progress(fmt.Sprintf(format, args...))
	}
}

// maxConnections is the number of connections that the database must admit: the services of all rows of a load run at
// the same time, and each keeps its pool.
const maxConnections = 5000

// OnServers compiles the services, starts MySQL, Redis and ZooKeeper, calls measure with the configuration of them, and
// stops the servers. mysql selects the database: docker (see servers.FromImage), local (the installed one), or auto
// (docker if it is there). The folder with the logs stays if something failed.
func (cfg Config) OnServers(ctx context.Context, mysql string, measure func(Config) error) (err error) {
	cfg.mysql.Args = []string{"--innodb-buffer-pool-size=1024M", fmt.Sprintf("--max-connections=%d", maxConnections)}
	if cfg.CommitDelay > 0 {
		cfg.mysql.Args = append(cfg.mysql.Args, delayed(cfg.CommitDelay)...)
	}
	switch mysql {
	case "auto", "docker":
		if cfg.mysql.Program, err = servers.FromImage(ctx); err != nil && mysql == "docker" {
			return err
		}
	case "local":
	default:
		return command.Misuse(fmt.Errorf("--mysql %q: want docker, local or auto", mysql))
	}
	return system.With(ctx, system.Config{
		MySQL: cfg.mysql, OrderServices: -1, StockServices: -1, Progress: cfg.Progress,
	}, func(s *system.System) (err error) {
		defer func() {
			if err != nil {
				s.KeepDir()
				cfg.say("the logs are in %s", s.Dir)
			}
		}()
		cfg.Dir, cfg.Bin, cfg.Servers = s.Dir, s.Bin, s.Servers
		cfg.say("warming ZooKeeper up")
		if err := warmUp(ctx, cfg.Servers.ZooKeeper.Addr(), cfg.Measure); err != nil {
			return fmt.Errorf("warm ZooKeeper up: %w", err)
		}
		return measure(cfg)
	})
}

// delayed returns the arguments that make each commit of a database server wait for d. Commits that arrive during the
// wait join it. MySQL ignores MariaDB's options, and the other way round.
func delayed(d time.Duration) []string {
	return []string{
		fmt.Sprintf("--loose-binlog-group-commit-sync-delay=%d", d.Microseconds()), // MySQL
		fmt.Sprintf("--loose-binlog-commit-wait-usec=%d", d.Microseconds()),        // MariaDB
		"--loose-binlog-commit-wait-count=10000",                                   // it waits for so many, or for the time
	}
}

// warmFor is how long ZooKeeper is kept busy at most before anything is measured.
const warmFor = 8 * time.Second

// warmUp sends ZooKeeper a lock's requests until Java has compiled the code for them. Otherwise the compilers
// would slow the first measurement. Before short measurements, which are not precise anyway, it takes ten of them.
func warmUp(ctx context.Context, zookeeper string, measurement time.Duration) error {
	session, err := zklock.Connect(ctx, []string{zookeeper},
		zklock.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	end := time.Now().Add(min(warmFor, 10*measurement))
	var busy errgroup.Group
	for i := range 32 {
		lock := zklock.NewMutex(session, fmt.Sprintf("/ladder-warm-up-%d", i%8), zklock.WithHandoff(1, 0))
		busy.Go(func() error {
			for time.Now().Before(end) {
				held, err := lock.Acquire(ctx)
				if err == nil {
					err = held.Release(ctx)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(busy.Wait(), session.Close())
}

// Bench is where and when something was measured.
type Bench struct {
	// Server is the database server's name and version, with the settings that make its commits durable.
	Server string `json:"server"`
	// Machine describes the processor.
	Machine string `json:"machine"`
	Date    string `json:"date"`
}

// bench describes this machine and the configured servers.
func (cfg Config) bench(ctx context.Context) (Bench, error) {
	b := Bench{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly)}
	var version, syncBinlog, flush string
	var logBin bool
	err := cfg.Servers.MySQL.QueryRow(ctx, "SELECT VERSION(), @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit",
		&version, &logBin, &syncBinlog, &flush)
	name := "MySQL"
	if strings.Contains(version, "MariaDB") {
		name = "MariaDB"
	}
	b.Server = fmt.Sprintf("%s %s (log_bin=%t sync_binlog=%s innodb_flush_log_at_trx_commit=%s)", name, version, logBin,
		syncBinlog, flush)
	if cfg.CommitDelay > 0 {
		b.Server += fmt.Sprintf(", commits delayed by %s", cfg.CommitDelay)
	}
	return b, err
}

// machine describes the processor briefly.
func machine() string {
	text := fmt.Sprintf("%d cores", runtime.NumCPU())
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return text // not on Linux
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return text + " " + strings.TrimSpace(value)
		}
	}
	return text
}
