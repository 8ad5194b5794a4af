package ladder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/servers"
)

// ComposeScale is whole orders by the compose file's stack, and by the same services as processes of this
// machine over the same servers.
type ComposeScale struct {
	// OrdersPerS is one of each service in compose, DirectPerS the same without containers.
	OrdersPerS  float64 `json:"orders_per_s"`
	DirectPerS  float64 `json:"direct_per_s"`
	DirectRatio float64 `json:"direct_ratio"`
	DirectError float64 `json:"direct_error"`
	// The other ratios are to one of each service, on one product.
	ThreeStockRatio float64 `json:"three_stock_ratio"`
	ThreeStockError float64 `json:"three_stock_error"`
	TwoOrderRatio   float64 `json:"two_order_ratio"`
	TwoOrderError   float64 `json:"two_order_error"`
	TwoThreeRatio   float64 `json:"two_three_ratio"`
	TwoThreeError   float64 `json:"two_three_error"`
	// Two order and three stock services to one of each, with many products and commits of 5 ms.
	DelayedTwoThreeRatio float64 `json:"delayed_two_three_ratio"`
	DelayedTwoThreeError float64 `json:"delayed_two_three_error"`
	Verdict              string  `json:"verdict"`
}

// ComposePlan configures MeasureCompose.
type ComposePlan struct {
	// Dir is the folder of docker-compose.yml, and Program docker-compose or docker compose.
	Dir     string
	Program []string
	Clients int
	Legs    int
	Window  time.Duration
	// Bin and Logs are the folders of the binaries, and of the logs of the services without containers.
	Bin, Logs string
	Progress  func(string)
}

type composed struct {
	ComposePlan
	orderPort, stockPort int
	mysql                string // host:port
	direct               *stack.Stack
	accounts             migrations.Accounts
	verdict              verify.Outcome
	password             string // for all of secrets, in place of .env
}

// secrets are the variables of the compose file whose passwords the measurement must know.
var secrets = []string{
	"MYSQL_ROOT_PASSWORD", "VERIFY_DB_PASSWORD", "SERVICE_TOKEN", "REDIS_ORDER_PASSWORD", "REDIS_STOCK_PASSWORD",
}

// MeasureCompose brings up the compose file's stack as a separate project, measures the shapes in turns, and takes it
// down.
func MeasureCompose(ctx context.Context, plan ComposePlan) (s *ComposeScale, err error) {
	c := &composed{ComposePlan: plan, verdict: verify.Pass, password: rand.Text()}
	for _, port := range []*int{&c.orderPort, &c.stockPort} {
		if *port, err = servers.FreePort(); err != nil {
			return nil, err
		}
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		if c.direct != nil {
			err = errors.Join(err, c.direct.Stop(clean))
		}
		_, downErr := c.run(clean, "down", "-v", "--remove-orphans")
		err = errors.Join(err, downErr)
	}()
	c.Progress("building the image and starting the compose stack")
	if _, err := c.run(ctx, "up", "-d", "--build"); err != nil {
		return nil, err
	}
	if err := c.startDirect(ctx); err != nil {
		return nil, err
	}
	rates := map[string][]float64{}
	one := shapeOf{1, 1}
	shapes := []shapeOf{{0, 0}, one, {1, 3}, {2, 1}, {2, 3}}
	for leg := range plan.Legs {
		if err := c.leg(ctx, leg, shapes, 1, rates, ""); err != nil {
			return nil, err
		}
	}
	undo, err := delayCommits(ctx, servers.AttachMySQLServer(c.mysql, "root", c.password), 5*time.Millisecond)
	if err != nil {
		return nil, err
	}
	for leg := range plan.Legs {
		if err := c.leg(ctx, leg, []shapeOf{one, {2, 3}}, 100, rates, "delayed "); err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	s = &ComposeScale{
		OrdersPerS: mean(rates[one.String()]), DirectPerS: mean(rates[shapeOf{}.String()]),
		Verdict: string(c.verdict),
	}
	for _, r := range []struct {
		of, to       string
		ratio, error *float64
	}{
		{one.String(), shapeOf{}.String(), &s.DirectRatio, &s.DirectError},
		{shapeOf{1, 3}.String(), one.String(), &s.ThreeStockRatio, &s.ThreeStockError},
		{shapeOf{2, 1}.String(), one.String(), &s.TwoOrderRatio, &s.TwoOrderError},
		{shapeOf{2, 3}.String(), one.String(), &s.TwoThreeRatio, &s.TwoThreeError},
		{"delayed " + shapeOf{2, 3}.String(), "delayed " + one.String(), &s.DelayedTwoThreeRatio, &s.DelayedTwoThreeError},
	} {
		*r.ratio, *r.error = mean(rates[r.of])/mean(rates[r.to]), legsError(rates[r.to], rates[r.of])
	}
	return s, undo()
}

// shapeOf is how many of each service run in compose. The zero value stands for one of each without containers.
type shapeOf struct{ order, stock int }

func (s shapeOf) String() string {
	if s == (shapeOf{}) {
		return "direct"
	}
	return fmt.Sprintf("%d order, %d stock", s.order, s.stock)
}

// leg measures each shape once, every second leg in the reverse order.
func (c *composed) leg(
	ctx context.Context, leg int, shapes []shapeOf, goods int, rates map[string][]float64, prefix string,
) error {
	for k := range shapes {
		s := shapes[k]
		if leg%2 == 1 {
			s = shapes[len(shapes)-1-k]
		}
		perS, err := c.measure(ctx, s, goods)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		c.Progress(fmt.Sprintf("leg %d of %d: %s%s: %.0f orders/s", leg+1, c.Legs, prefix, s, perS))
		rates[prefix+s.String()] = append(rates[prefix+s.String()], perS)
	}
	return nil
}

func (c *composed) measure(ctx context.Context, s shapeOf, goods int) (float64, error) {
	var t trial.Trial
	load := fire.Config{
		Path: history.PathOrder, Concurrency: c.Clients, Warmup: 2 * time.Second, Duration: 2*time.Second + c.Window,
		Timeout: 30 * time.Second, Mix: fire.Mix{Goods: goods, Stock: plenty, ItemsMax: 1, NumMax: 1},
	}
	if s == (shapeOf{}) {
		// The services in compose are idle now, like the ones without containers while compose is measured.
		t = trial.On(c.direct, load)
	} else {
		if _, err := c.run(ctx, "up", "-d", "--no-recreate", "--scale", "order-service="+strconv.Itoa(s.order),
			"--scale", "stock-service="+strconv.Itoa(s.stock)); err != nil {
			return 0, err
		}
		// Through the network, as the load tester's container does: a port that is published to 127.0.0.1 leads
		// through a process of the engine that copies every byte.
		front, err := c.addr(ctx, "front")
		if err != nil {
			return 0, err
		}
		load.Target = fire.Target{
			OrderURLs: []string{"http://" + front + ":8080"}, StockURLs: []string{"http://" + front + ":8081"},
			StockToken: c.password,
		}
		dsn := func(db string) string {
			return "verifier:" + c.password + "@tcp(" + c.mysql + ")/" + db + "?parseTime=true"
		}
		t.Load = load
		t.Books.Databases = verify.Databases{OrderDSN: dsn("order_db"), StockDSN: dsn("stock_db")}
		select { // the front looks for replicas every second, and the services settle
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	t.Books.Settle = time.Minute
	r, err := t.Run(ctx)
	if err != nil {
		return 0, err
	}
	if r.Verdict.Outcome != verify.Pass {
		c.verdict = r.Verdict.Outcome
	}
	return r.History.Measure().DonePerS, nil
}

// addr returns a container's address in its network.
func (c *composed) addr(ctx context.Context, service string) (string, error) {
	id, err := c.run(ctx, "ps", "-q", service)
	if err != nil {
		return "", err
	}
	ip, err := exec.CommandContext(ctx, "docker", "inspect", "-f",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", strings.TrimSpace(id)).Output()
	if err != nil {
		return "", fmt.Errorf("find the address of %s: %w", service, err)
	}
	return strings.TrimSpace(string(ip)), nil
}

// startDirect starts one of each service without containers, on the servers of the containers.
func (c *composed) startDirect(ctx context.Context) error {
	var redis, zookeeper string
	for _, s := range []struct {
		to            *string
		service, port string
	}{{&c.mysql, "mysql", "3306"}, {&redis, "redis", "6379"}, {&zookeeper, "zookeeper", "2181"}} {
		ip, err := c.addr(ctx, s.service)
		if err != nil {
			return err
		}
		*s.to = net.JoinHostPort(ip, s.port)
	}
	c.accounts = migrations.DefaultAccounts()
	for _, name := range []*string{
		&c.accounts.OrderDB, &c.accounts.StockDB, &c.accounts.OrderApp.Name, &c.accounts.StockApp.Name,
		&c.accounts.Migrator.Name, &c.accounts.Verifier.Name,
	} {
		*name += "_direct"
	}
	passwords(&c.accounts)
	var err error
	c.direct, err = stack.Up(ctx, stack.Config{
		Dir: c.Logs, Bin: c.Bin, OrderServices: 1, StockServices: 1, Accounts: c.accounts, ZooKeeperRoot: "/direct",
		OrderEnv: map[string]string{"REDIS_AUTH": "order:" + c.password},
		StockEnv: map[string]string{"REDIS_AUTH": "stock:" + c.password},
		Servers: &stack.Servers{
			MySQL: servers.AttachMySQLServer(c.mysql, "root", c.password), Redis: servers.AttachRedis(redis),
			ZooKeeper: servers.AttachZooKeeper(zookeeper),
		},
	})
	return err
}

// run runs the compose program and returns its output.
func (c *composed) run(ctx context.Context, args ...string) (string, error) {
	all := append(append([]string{}, c.Program[1:]...), args...)
	cmd := exec.CommandContext(ctx, c.Program[0], all...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("COMPOSE_PROJECT_NAME=orderstock-scale-%d", os.Getpid()),
		fmt.Sprintf("ORDER_PORT=%d", c.orderPort), fmt.Sprintf("STOCK_PORT=%d", c.stockPort), "CONSOLE_PORT=0",
		"RATE_LIMIT_ORDERS=", "RATE_LIMIT_READS=")
	for _, name := range secrets {
		cmd.Env = append(cmd.Env, name+"="+c.password)
	}
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(c.Program[0]), strings.Join(args, " "), err, failure.String())
	}
	return string(out), nil
}

// Ratios returns the ratios of the stack, each with its target.
func (s ComposeScale) Ratios() []Ratio {
	return []Ratio{
		{Name: "compose / without containers", Value: s.DirectRatio, Error: s.DirectError, Want: 0.9},
		{Name: "three stock services / one", Value: s.ThreeStockRatio, Error: s.ThreeStockError, Want: 1},
		{Name: "two order services / one", Value: s.TwoOrderRatio, Error: s.TwoOrderError, Want: 0.9},
		{Name: "two and three / one of each", Value: s.TwoThreeRatio, Error: s.TwoThreeError, Want: 0.9},
		{
			Name:  "two and three / one of each, 100 products, commits of 5 ms",
			Value: s.DelayedTwoThreeRatio, Error: s.DelayedTwoThreeError, Want: 1.5,
		},
	}
}

func (s ComposeScale) missed() (missed []string) {
	for _, r := range s.Ratios() {
		if !r.withinError() {
			missed = append(missed, fmt.Sprintf("%s: %.2f ±%.2f, want %.1f", r.Name, r.Value, r.Error, r.Want))
		}
	}
	if s.Verdict != "pass" {
		missed = append(missed, "compose: verdict "+s.Verdict)
	}
	return missed
}
