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

// StartZooKeeper starts a standalone ZooKeeper. It admits session timeouts from one second up, container and TTL nodes,
// any number of clients, and all four-letter words.
func StartZooKeeper(ctx context.Context, o Options) (*ZooKeeper, error) {
	s, err := o.start(ctx, "zookeeper", Options.zooKeeper)
	return &ZooKeeper{s}, err
}

// AttachZooKeeper returns a server that runs elsewhere at addr.
func AttachZooKeeper(addr string) *ZooKeeper { return &ZooKeeper{attach("zookeeper", addr)} }

// zooKeeper makes the server's files, and returns how to run it.
func (o Options) zooKeeper(ctx context.Context) (s Spec, err error) {
	java, classpath, err := programs.ZooKeeper()
	if err != nil {
		return s, err
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return s, err
	}
	data := filepath.Join(o.Dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return s, err
	}
	if o.id > 0 {
		if err := os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, o.id), 0o644); err != nil {
			return s, err
		}
	}
	config := append([]string{
		"dataDir=" + data,
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
	file := filepath.Join(o.Dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o644); err != nil {
		return s, err
	}
	var env []string
	if o.SlowSync > 0 {
		if env, err = slowSync(ctx, o.Dir, o.SlowSync); err != nil {
			return s, err
		}
	}
	args := append([]string{
		"-cp", classpath, "-Xmx512m",
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dznode.container.checkIntervalMs=60000",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
	}, o.Args...)
	args = append(args, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	return Spec{Path: java, Args: args, Env: env, Ready: (&ZooKeeper{attach(o.Name, o.Addr)}).serving}, nil
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

// Monitor returns the server's counters by name, as the command mntr lists them. It omits values that are no number. It
// returns an error if the server does not serve.
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
	if len(counters) == 0 {
		return nil, fmt.Errorf("%s does not serve: %q", z.Name(), strings.TrimSpace(answer))
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
