package ladder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
)

// ComposeScale is whole orders by the compose file's stack, and by the same services as processes of this
// machine over the same servers.
type ComposeScale struct {
	// OrdersPerS is one of each service in compose, DirectPerS the same without containers.
	OrdersPerS float64 `json:"orders_per_s"`
	DirectPerS float64 `json:"direct_per_s"`
	// Ratios compare the stack with the services without containers, and with more of each service.
	Ratios  []ComposeRatio `json:"ratios"`
	Verdict verify.Outcome `json:"verdict"`
}

// ComposeRatio is a ratio with its name.
type ComposeRatio struct {
	Name string `json:"name"`
	Ratio
}

// composed is the compose file's stack. It implements trial.System.
type composed struct {
	system.Compose
	password     string // for all of secrets, in place of .env
	front, mysql string // addresses in the containers' network
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
		fmt.Sprintf("COMPOSE_PROJECT_NAME=orderstock-scale-%d", os.Getpid()), "CONSOLE_PORT=0", "RATE_LIMIT_ORDERS=",
		"RATE_LIMIT_READS=",
	}
	for _, name := range []string{"ORDER_PORT", "STOCK_PORT"} {
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

// MeasureCompose brings up the compose file's stack as a separate project, measures the shapes in that many turns, and
// takes it down. Of cfg it uses Measure and Progress.
func MeasureCompose(ctx context.Context, cfg Config, turns int) (s *ComposeScale, err error) {
	c, err := newComposed(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Dir, cfg.Warmup = filepath.Join(c.Dir, "out", "scale-direct"), 2*time.Second
	o := system.Options{Progress: cfg.Progress}
	if err := o.Build(ctx); err != nil {
		return nil, err
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
		return nil, err
	}
	if cfg.Servers, err = c.servers(ctx); err != nil {
		return nil, err
	}
	// The services in compose are idle while these are measured, and the other way round.
	direct, err := open(ctx, cfg, variant{
		shape: shape{Default, 1}, impatient: true,
		env:      map[string]string{"REDIS_AUTH": "stock:" + c.password},
		orderEnv: map[string]string{"REDIS_AUTH": "order:" + c.password},
	}, PathOrder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, direct.close(ctx)) }()

	p := point{path: PathOrder, goods: 1, clients: usualClients, uniform: true}
	one, threeStock, twoOrder, twoThree := c.scaled(1, 1), c.scaled(1, 3), c.scaled(2, 1), c.scaled(2, 3)
	hot := []*contestant{direct, one, threeStock, twoOrder, twoThree}
	if err := race(ctx, cfg, p, hot, legs(turns, cfg.say)); err != nil {
		return nil, err
	}
	undo, err := delayCommits(ctx, cfg.Servers.MySQL, 5*time.Millisecond)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	p.goods = 100
	delayed := []*contestant{c.scaled(1, 1), c.scaled(2, 3)}
	if err := race(ctx, cfg, p, delayed, legs(turns, cfg.say)); err != nil {
		return nil, err
	}

	s = &ComposeScale{OrdersPerS: mean(one.perS()), DirectPerS: mean(direct.perS()), Verdict: verify.Pass}
	for _, r := range []struct {
		name     string
		than, of *contestant
	}{
		{"compose / without containers", direct, one},
		{"three stock services / one", one, threeStock},
		{"two order services / one", one, twoOrder},
		{"two and three / one of each", one, twoThree},
		{"two and three / one of each, 100 products, commits of 5 ms", delayed[0], delayed[1]},
	} {
		s.Ratios = append(s.Ratios, ComposeRatio{r.name, overLegs(r.than.perS(), r.of.perS())})
	}
	for _, one := range append(hot, delayed...) {
		s.Verdict = s.Verdict.Or(one.verdict)
	}
	return s, nil
}

// scaled returns the stack with so many services as a contestant.
func (c *composed) scaled(order, stock int) *contestant {
	scale := func(ctx context.Context) (func() error, error) {
		_, err := c.Run(ctx, "up", "-d", "--no-recreate", "--scale", fmt.Sprintf("order-service=%d", order),
			"--scale", fmt.Sprintf("stock-service=%d", stock))
		if err != nil {
			return nil, err
		}
		// The front looks for replicas every second, and the services settle.
		return func() error { return nil }, trial.Sleep(ctx, 5*time.Second)
	}
	name := shape{fmt.Sprintf("compose, %d order services", order), stock}
	return &contestant{variant: variant{shape: name}, system: c, begin: scale}
}

// Target implements trial.System. It leads through the network, as the load tester's container does: a port that is
// published to 127.0.0.1 leads through a process of the engine that copies every byte.
func (c *composed) Target() fire.Target {
	return fire.Target{
		OrderURLs: []string{"http://" + c.front + ":8080"}, StockURLs: []string{"http://" + c.front + ":8081"},
		StockToken: c.password,
	}
}

// Databases implements trial.System.
func (c *composed) Databases() verify.Databases {
	server := servers.AttachMySQLServer(c.mysql, "verifier", c.password)
	return verify.Databases{OrderDSN: server.AdminDSNFor("order_db"), StockDSN: server.AdminDSNFor("stock_db")}
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

// servers finds the containers' addresses, and returns the servers.
func (c *composed) servers(ctx context.Context) (*system.Servers, error) {
	var redis, zookeeper string
	for _, s := range []struct {
		to            *string
		service, port string
	}{
		{&c.front, "front", ""}, {&c.mysql, "mysql", ":3306"}, {&redis, "redis", ":6379"}, {&zookeeper, "zookeeper", ":2181"},
	} {
		ip, err := c.addr(ctx, s.service)
		if err != nil {
			return nil, err
		}
		*s.to = ip + s.port
	}
	return &system.Servers{
		MySQL: servers.AttachMySQLServer(c.mysql, "root", c.password), Redis: servers.AttachRedis(redis),
		ZooKeeper: servers.AttachZooKeeper(zookeeper),
	}, nil
}
