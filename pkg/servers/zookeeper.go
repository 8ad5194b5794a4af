package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"orderstock/pkg/servers/programs"
)

// ZooKeeper is one ZooKeeper server, alone or of an ensemble.
type ZooKeeper struct{ *Server }

// StartZooKeeper starts a standalone ZooKeeper with its data in dir. It admits
// session timeouts from one second up, container and TTL nodes, any number of
// clients, and all four-letter words.
func StartZooKeeper(ctx context.Context, dir string, opts ...Option) (*ZooKeeper, error) {
	o, err := newOptions(opts...)
	if err != nil {
		return nil, fmt.Errorf("start zookeeper: %w", err)
	}
	return startZooKeeper(ctx, "zookeeper", dir, o)
}

// AttachZooKeeper returns a server that runs elsewhere at addr.
func AttachZooKeeper(addr string) *ZooKeeper { return &ZooKeeper{attach("zookeeper", addr)} }

func startZooKeeper(ctx context.Context, name, dir string, o options) (*ZooKeeper, error) {
	java, classpath, err := programs.ZooKeeper()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	config := append([]string{
		"dataDir=" + filepath.Join(dir, "data"),
		"clientPortAddress=" + host,
		"clientPort=" + port,
		"tickTime=500", // milliseconds: session timeouts are rounded to multiples of it
		"initLimit=20",
		"syncLimit=10",
		"minSessionTimeout=1000",
		"maxSessionTimeout=60000",
		"maxClientCnxns=0",
		"autopurge.purgeInterval=1",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"extendedTypesEnabled=true",
	}, o.config...)
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	var env []string
	if o.slowSync > 0 {
		if env, err = slowSync(ctx, dir, o.slowSync); err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
	}

	z := &ZooKeeper{attach(name, o.addr)}
	args := append([]string{
		"-cp", classpath, "-Xmx512m",
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dznode.container.checkIntervalMs=60000",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
	}, o.args...)
	z.Server, err = Start(ctx, Spec{
		Name:  name,
		Path:  java,
		Args:  append(args, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file),
		Env:   env,
		Dir:   dir,
		Addr:  o.addr,
		Ready: z.serving,
	})
	if err != nil {
		return nil, err
	}
	return z, nil
}

// Mode returns the server's role: "standalone", "leader" or "follower". It returns an error if the server does not
// serve, for example without a quorum.
func (z *ZooKeeper) Mode(ctx context.Context) (string, error) {
	answer, err := z.Command(ctx, "srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(answer) {
		if mode, ok := strings.CutPrefix(strings.TrimSpace(line), "Mode: "); ok {
			return mode, nil
		}
	}
	return "", fmt.Errorf("%s does not serve: %q", z.Name(), strings.TrimSpace(answer))
}

func (z *ZooKeeper) serving(ctx context.Context) error {
	_, err := z.Mode(ctx)
	return err
}

// Monitor returns the server's counters by name, as the command mntr lists them. It omits values that are no number.
func (z *ZooKeeper) Monitor(ctx context.Context) (map[string]float64, error) {
	answer, err := z.Command(ctx, "mntr")
	if err != nil {
		return nil, err
	}
	counters := map[string]float64{}
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			counters[name] = n
		}
	}
	return counters, nil
}

// commandTimeout bounds a command and its answer.
const commandTimeout = 3 * time.Second

// Command sends a four-letter word, such as "mntr" or "wchs", and returns the answer.
func (z *ZooKeeper) Command(ctx context.Context, word string) (string, error) {
	conn, err := dial(ctx, z.Addr())
	if err != nil {
		return "", fmt.Errorf("send %s to %s: %w", word, z.Name(), err)
	}
	defer func() { _ = conn.Close() }()
	// A server that dies now may leave a connection that never ends.
	err = conn.SetDeadline(time.Now().Add(commandTimeout))
	if err == nil {
		_, err = conn.Write([]byte(word))
	}
	answer, e := io.ReadAll(conn)
	if err = errors.Join(err, e); err != nil && len(answer) == 0 {
		return "", fmt.Errorf("send %s to %s: %w", word, z.Name(), err)
	}
	return string(answer), nil
}
