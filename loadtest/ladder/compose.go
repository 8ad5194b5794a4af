package ladder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/retry"
	"orderstock/pkg/servers"
)

// composed is the compose file's stack.
type composed struct {
	system.Compose
	password string // for all of secrets, in place of .env
	system   *system.System
}

// secrets are the variables of the compose file whose passwords the measurement must know.
var secrets = []string{
	"MYSQL_ROOT_PASSWORD", "VERIFY_DB_PASSWORD", "SERVICE_TOKEN", "REDIS_ORDER_PASSWORD", "REDIS_STOCK_PASSWORD",
}

// newComposed returns a separate project of the compose file, which is not up yet.
func newComposed(ctx context.Context) (c *composed, err error) {
	c = &composed{password: rand.Text()}
	if c.Compose, err = system.NewCompose(ctx, ""); err != nil {
		return nil, err
	}
	c.Env = []string{
		fmt.Sprintf("COMPOSE_PROJECT_NAME=orderstock-scale-%d", os.Getpid()), "RATE_LIMIT_ORDERS=", "RATE_LIMIT_READS=",
	}
	for _, name := range []string{"ORDER_PORT", "STOCK_PORT", "CONSOLE_PORT"} {
		port, err := servers.FreePort()
		if err != nil {
			return nil, err
		}
		c.Env = append(c.Env, fmt.Sprintf("%s=%d", name, port))
	}
	for _, name := range secrets {
		c.Env = append(c.Env, name+"="+c.password)
	}
	return c, nil
}

// usualClients is the number of clients of the compose file's stack.
const usualClients = 256

// Compose brings up the compose file's stack as a separate project, measures whole orders with several of each service,
// and takes the stack down. In turns with them, it measures the same services as processes of this machine, on the same
// servers, and adds the rows to r. turns is how often each is measured. Of cfg it uses Measure, Seed and Progress.
func (cfg Config) Compose(ctx context.Context, turns int, r *Result) (err error) {
	c, err := newComposed(ctx)
	if err != nil {
		return err
	}
	cfg.Dir, cfg.Measure, cfg.Warmup = filepath.Join(c.Dir, "out", "scale-direct"), 2*cfg.Measure, 2*time.Second
	o := system.Config{Progress: cfg.Progress}
	if err := o.Compile(ctx); err != nil {
		return err
	}
	cfg.Bin = o.Bin
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		_, downErr := c.Run(clean, "down", "-v", "--remove-orphans")
		err = errors.Join(err, downErr)
	}()
	cfg.say("building the image and starting the compose stack")
	if _, err := c.Run(ctx, "up", "-d", "--build"); err != nil {
		return err
	}
	if cfg.Servers, err = c.servers(ctx); err != nil {
		return err
	}
	where, err := cfg.bench(ctx)
	if err != nil {
		return err
	}
	if r.Compose = where.Server; r.Server == "" {
		r.Bench = where
	}
	cfg.redisPassword = c.password
	hot := trial.Experiment{
		Services: trial.Services{Strategy: Default, Replicas: 1},
		Load:     fire.Config{Path: history.PathOrder, Concurrency: usualClients, Mix: fire.Mix{Goods: 1}},
	}
	// The services in compose are idle while these are measured, and the other way round.
	alone := hot
	alone.Name = "without containers"
	direct, err := cfg.open(ctx, alone)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, direct.close(ctx)) }()

	all := []*contestant{c.scaled(hot, 1, 1), direct, c.scaled(hot, 1, 3), c.scaled(hot, 2, 1), c.scaled(hot, 2, 3)}
	rows, err := cfg.race(ctx, all, turns, 0)
	if r.Rows = append(r.Rows, rows...); err != nil {
		return err
	}
	const delay = 5 * time.Millisecond
	undo, err := delayCommits(ctx, cfg.Servers.MySQL, delay)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
	hot.Load.Mix.Goods = 100
	delayed, err := cfg.race(ctx, []*contestant{c.scaled(hot, 1, 1), c.scaled(hot, 2, 3)}, turns, 0)
	for i := range delayed {
		delayed[i].DelayMS = ms(delay)
	}
	r.Rows = append(r.Rows, delayed...)
	return err
}

// scaled returns the stack with so many services as a contestant in the experiment.
func (c *composed) scaled(e trial.Experiment, order, stock int) *contestant {
	scale := func(ctx context.Context) error {
		_, err := c.Run(ctx, "up", "-d", "--no-recreate", "--scale", fmt.Sprintf("order-service=%d", order),
			"--scale", fmt.Sprintf("stock-service=%d", stock))
		if err != nil {
			return err
		}
		return c.healthy(ctx)
	}
	e.Name, e.Services.Replicas = fmt.Sprintf("compose, order services: %d", order), stock
	return &contestant{Experiment: e, system: c.system, begin: scale}
}

// healthy returns once all services are, for at most two minutes.
func (c *composed) healthy(ctx context.Context) error {
	pauses := retry.Policy{First: time.Second, Max: time.Second, Tries: 120}
	return retry.Run(ctx, pauses, func() error {
		ids, err := c.Run(ctx, "ps", "-q", "order-service", "stock-service")
		if err != nil {
			return err
		}
		args := append([]string{"inspect", "-f", "{{.State.Health.Status}}"}, strings.Fields(ids)...)
		text, err := system.Output(exec.CommandContext(ctx, "docker", args...))
		states := strings.Fields(text)
		if err == nil && slices.ContainsFunc(states, func(s string) bool { return s != "healthy" }) {
			err = fmt.Errorf("the services are %s", strings.Join(states, ", "))
		}
		return err
	})
}

// addr returns a container's address in its network.
func (c *composed) addr(ctx context.Context, service string) (string, error) {
	id, err := c.Run(ctx, "ps", "-q", service)
	if err != nil {
		return "", err
	}
	return system.Output(exec.CommandContext(ctx, "docker", "inspect", "-f",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id))
}

// servers attaches to the services, and returns the servers. All addresses are in the containers' network, as the load
// tester's container has them: a port that is published to 127.0.0.1 leads through a process of the engine that copies
// every byte.
func (c *composed) servers(ctx context.Context) (*system.Servers, error) {
	var front, mysql, redis, zookeeper string
	for _, s := range []struct {
		to            *string
		service, port string
	}{
		{&front, "front", ""}, {&mysql, "mysql", ":3306"}, {&redis, "redis", ":6379"}, {&zookeeper, "zookeeper", ":2181"},
	} {
		ip, err := c.addr(ctx, s.service)
		if err != nil {
			return nil, err
		}
		*s.to = ip + s.port
	}
	books := servers.AttachMySQLServer(mysql, "verifier", c.password)
	c.system = system.Attach(fire.Target{
		OrderURLs: []string{"http://" + front + ":8080"}, StockURLs: []string{"http://" + front + ":8081"},
		StockToken: c.password,
	}, verify.Databases{OrderDSN: books.AdminDSNFor("order_db"), StockDSN: books.AdminDSNFor("stock_db")})
	return &system.Servers{
		MySQL: servers.AttachMySQLServer(mysql, "root", c.password), Redis: servers.AttachRedis(redis),
		ZooKeeper: servers.AttachZooKeeper(zookeeper),
	}, nil
}
