package ladder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers the driver
	"golang.org/x/sync/errgroup"

	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// Image is the database image of the compose file. The ladder measures on it if
// Docker has it.
const Image = "mysql:9.7"

const containerPassword = "ladder"

// maxConnections is the number of connections that the database must admit: the services of all rows of a point run at
// the same time, and each keeps its pool.
const maxConnections = 5000

// haveImage reports whether a Docker engine answers and has the image.
func haveImage(ctx context.Context) bool {
	return exec.CommandContext(ctx, "docker", "image", "inspect", Image).Run() == nil
}

// startContainer runs the image's MySQL, as durable as a production primary, on the host's network, so that there is no
// proxy between it and the services. The returned function removes the container and its data.
func startContainer(ctx context.Context) (*servers.MySQL, func(context.Context) error, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", Image, err)
	}
	name := "orderstock-ladder-" + strconv.Itoa(os.Getpid())
	out, err := exec.CommandContext(ctx, "docker", "run", "--detach", "--rm", "--name", name, "--network", "host",
		"--env", "MYSQL_ROOT_PASSWORD="+containerPassword, Image,
		"--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--mysqlx=OFF",
		"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=1G",
		fmt.Sprintf("--max-connections=%d", maxConnections)).CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w: %s", Image, err, out)
	}
	remove := func(ctx context.Context) error {
		if out, err := exec.CommandContext(ctx, "docker", "rm", "--force", "--volumes", name).CombinedOutput(); err != nil {
			return fmt.Errorf("remove container %s: %w: %s", name, err, out)
		}
		return nil
	}
	m := servers.AttachMySQLServer("127.0.0.1:"+strconv.Itoa(port), "root", containerPassword)
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for {
		err := m.Ping(ctx)
		if err == nil {
			return m, remove, nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-deadline.C:
			return nil, nil, errors.Join(fmt.Errorf("start %s: not ready after two minutes: %w", Image, err), remove(ctx))
		case <-ctx.Done():
			return nil, nil, errors.Join(ctx.Err(), remove(context.WithoutCancel(ctx)))
		}
	}
}

// serverVersion returns the database server's name and version, with the
// settings that make its commits durable.
func serverVersion(ctx context.Context, m *servers.MySQL) (string, error) {
	db, err := sql.Open("mysql", m.AdminDSN())
	if err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	defer func() { _ = db.Close() }()
	var version, syncBinlog, flush string
	var logBin bool
	err = db.QueryRowContext(ctx, "SELECT VERSION(), @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit").
		Scan(&version, &logBin, &syncBinlog, &flush)
	if err != nil {
		return "", fmt.Errorf("ask the database for its version: %w", err)
	}
	name := "MySQL"
	if strings.Contains(version, "MariaDB") {
		name = "MariaDB"
	}
	return fmt.Sprintf("%s %s (log_bin=%t sync_binlog=%s innodb_flush_log_at_trx_commit=%s)", name, version, logBin,
		syncBinlog, flush), nil
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

// warmFor is how long ZooKeeper is kept busy at most before anything is measured.
const warmFor = 8 * time.Second

// warmUp sends ZooKeeper a lock's requests until Java has compiled the code for them. Otherwise the compilers
// would slow the first measurement. Before short measurements, which are not precise anyway, it takes ten of them.
func warmUp(ctx context.Context, zookeeper string, measurement time.Duration) error {
	session, err := zklock.Connect(ctx, []string{zookeeper})
	if err != nil {
		return fmt.Errorf("warm ZooKeeper up: %w", err)
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
					return fmt.Errorf("warm ZooKeeper up: %w", err)
				}
			}
			return nil
		})
	}
	return errors.Join(busy.Wait(), session.Close())
}
