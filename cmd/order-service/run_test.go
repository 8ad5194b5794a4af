package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"orderstock/migrations"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/config"
	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/service"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
	"orderstock/stock-service/stockhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

var quiet = slog.New(slog.DiscardHandler)

const token = "token-of-the-test"

var must = serverstest.Must

// migrated makes a database with that schema and returns a DSN for it.
func migrated(t *testing.T, schema string) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	must(t, err)
	cfg.ParseTime = true
	db, err := mysqldb.Open(cfg.FormatDSN(), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	pool, err := db.DB()
	must(t, err)
	must(t, migrations.Up(t.Context(), pool, schema))
	return cfg.FormatDSN()
}

// stockService runs the real stock service; around wraps its handler.
func stockService(t *testing.T, around func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	return stockServiceWith(t, "conditional-update", migrated(t, migrations.Stock), around)
}

func stockServiceWith(
	t *testing.T, name, dsn string, around func(http.Handler) http.Handler,
) *httptest.Server {
	t.Helper()
	db, err := mysqldb.Open(dsn, mysqldb.Options{MaxConns: 64})
	must(t, err)
	ledger := stockdb.New(db)
	flags := redisdb.OpenFlags(redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}}, quiet)
	strategy, err := compared.New(name, compared.Config{Ledger: ledger, Config: deduct.Config{Config: coordination.Config{
		ZooKeeper: []string{serverstest.ZooKeeper(t).Addr()}, Root: serverstest.ZooKeeperRoot(t),
		SessionTimeout: 5 * time.Second, Log: quiet,
	}}})
	must(t, err)
	handler := stockhttp.New(stock.NewService(flags, ledger, strategy), stockhttp.Config{Token: token}, quiet)
	server := httptest.NewServer(around(contracttest.Read(t, stockhttp.OpenAPI).Check(t, handler)))
	t.Cleanup(func() {
		server.Close()
		must(t, strategy.Close())
		ledger.Close()
		must(t, flags.Close())
		must(t, mysqldb.Close(db))
	})
	return server
}

func testConfig(t *testing.T, stockURL string) settings {
	t.Helper()
	for name, value := range map[string]string{
		"LISTEN_ADDR": "127.0.0.1:0", "LOG_LEVEL": "ERROR", "SERVICE_TOKEN": token, "STOCK_URLS": stockURL,
		"MYSQL_DSN": migrated(t, migrations.Order), "REDIS_ADDR": serverstest.Redis(t).Addr(),
		"ZOOKEEPER_ADDRS": serverstest.ZooKeeper(t).Addr(), "ZOOKEEPER_ROOT": serverstest.ZooKeeperRoot(t),
	} {
		t.Setenv(name, value)
	}
	cfg, err := config.Read[settings]()
	must(t, err)
	return cfg
}

// start runs the service and returns once it is ready. Stop ends it; ended receives what run returned.
func start(t *testing.T, cfg settings) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	url, stop, ended = listen(t, cfg)
	eventually(t, "the service is ready", func() bool {
		status, _ := send(t, "GET", url+"/readyz", "")
		return status == http.StatusOK
	})
	return url, stop, ended
}

// listen is start without the wait until the service is ready.
func listen(t *testing.T, cfg settings) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	listening, end := make(chan string, 1), make(chan error, 1)
	go func() { end <- run(ctx, cfg, func(addr string) { listening <- addr }) }()
	select {
	case addr := <-listening:
		url = "http://" + addr
	case err := <-end:
		t.Fatal(err)
	}
	return url, stop, end
}

func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	client := http.Client{Transport: contracttest.Read(t, orderhttp.OpenAPI).Transport(t, http.DefaultTransport)}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(raw)
}

var eventually = serverstest.Eventually

func restock(t *testing.T, stockURL string, num int64) {
	t.Helper()
	client, err := stockapi.NewClient([]string{stockURL}, stockapi.Config{Token: token, Tries: 1, Timeout: time.Minute})
	must(t, err)
	defer client.Close()
	_, err = client.Restock(t.Context(), operation.Restock{GoodsID: 1, Flag: "first", Num: num})
	must(t, err)
}

// The service stops while orders are held up at the stock service, or wait to go there.
func TestStoppingCutsNoOrder(t *testing.T) {
	const orders = 20
	reached, leave := make(chan struct{}), make(chan struct{})
	var first sync.Once
	stockServer := stockService(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/operations" {
				first.Do(func() { close(reached) })
				<-leave
			}
			next.ServeHTTP(w, r)
		})
	})
	restock(t, stockServer.URL, orders)
	cfg := testConfig(t, stockServer.URL)
	// The orders commit one after the other, each with the disk's own time, after the test held them up.
	cfg.ConfirmBudget, cfg.PendingLimit, cfg.CancelAfter = time.Minute, 2*time.Minute, 3*time.Minute
	cfg.StockTimeout = time.Minute
	url, stop, ended := start(t, cfg)

	var clients sync.WaitGroup
	for range orders {
		clients.Go(func() {
			status, body := send(t, "POST", url+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
			if status != http.StatusCreated {
				t.Errorf("an order in flight got %d %s", status, body)
			}
		})
	}
	<-reached
	eventually(t, "all orders are in flight", func() bool {
		_, body := send(t, "GET", url+"/v1/orders?status=PENDING&limit=100", "")
		return strings.Count(body, `"PENDING"`) == orders
	})
	stop()
	eventually(t, "new requests are refused", func() bool {
		status, _ := send(t, "GET", url+"/healthz", "")
		return status == 0
	})
	close(leave)
	clients.Wait()
	must(t, <-ended)

	// Its data is whole, and a new process continues with it.
	url, stop, ended = start(t, cfg)
	status, body := send(t, "GET", url+"/v1/orders?status=CONFIRMED&limit=100", "")
	if status != http.StatusOK || strings.Count(body, `"CONFIRMED"`) != orders {
		t.Errorf("after a restart: %d %s", status, body)
	}
	stop()
	must(t, <-ended)
}

func TestItStartsAndAnswersWithoutZooKeeper(t *testing.T) {
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	restock(t, stockServer.URL, 1000)
	cfg := testConfig(t, stockServer.URL)
	zookeeper := serverstest.Start(t, servers.StartZooKeeper, servers.Options{})
	must(t, zookeeper.Pause())
	cfg.ZooKeeperAddrs, cfg.ZooKeeperRoot = []string{zookeeper.Addr()}, "/orderstock"

	url, stop, ended := listen(t, cfg)
	const body = `{"items":[{"goods_id":"1","num":1}]}`
	if status, answer := send(t, "POST", url+"/v1/orders", body); status != http.StatusServiceUnavailable {
		t.Errorf("an order without ids: %d %s", status, answer)
	}
	if status, answer := send(t, "GET", url+"/v1/orders", ""); status != http.StatusOK {
		t.Errorf("a request without ids: %d %s", status, answer)
	}
	must(t, zookeeper.Resume())
	eventually(t, "orders go through", func() bool {
		status, _ := send(t, "POST", url+"/v1/orders", body)
		return status == http.StatusCreated
	})
	stop()
	must(t, <-ended)
}

// Without addresses, the stock services are found in ZooKeeper, including later ones.
func TestStockServicesAreFound(t *testing.T) {
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	restock(t, stockServer.URL, 1000)
	cfg := testConfig(t, stockServer.URL)
	cfg.StockURLs = nil
	url, stop, ended := start(t, cfg)
	const body = `{"items":[{"goods_id":"1","num":1}]}`
	if status, answer := send(t, "POST", url+"/v1/orders", body); status != http.StatusServiceUnavailable {
		t.Errorf("an order while no stock service is there: %d %s", status, answer)
	}
	where := cfg.ZooKeeper()
	where.Log = quiet
	announcer := coordination.Open("test", where)
	defer func() { must(t, announcer.Close()) }()
	defer announcer.Announce(t.Context(), "stock", strings.TrimPrefix(stockServer.URL, "http://"), false, token)()
	eventually(t, "orders go through", func() bool {
		status, _ := send(t, "POST", url+"/v1/orders", body)
		return status == http.StatusCreated
	})
	stop()
	must(t, <-ended)
}

// A stranger who can write in ZooKeeper does not get the service token by announcing himself.
func TestAStrangerGetsNoToken(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		http.Error(w, "thank you", http.StatusServiceUnavailable)
	}))
	defer stranger.Close()
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	restock(t, stockServer.URL, 1000)
	cfg := testConfig(t, stockServer.URL)
	cfg.StockURLs = nil
	where := cfg.ZooKeeper()
	where.Log = quiet
	announcer := coordination.Open("test", where)
	defer func() { must(t, announcer.Close()) }()
	defer announcer.Announce(t.Context(), "stock", strings.TrimPrefix(stranger.URL, "http://"), false, "guess")()
	zookeeper, err := announcer.Get(t.Context())
	must(t, err)
	eventually(t, "the stranger is announced", func() bool { return announcer.Announced(t.Context()) == nil })
	unproved := coordination.Dir(where.Root, "stock") + "/" + strings.TrimPrefix(stranger.URL, "http://") + "_1"
	_, err = zookeeper.Conn().Create(unproved, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	must(t, err)

	url, stop, ended := start(t, cfg)
	const body = `{"items":[{"goods_id":"1","num":1}]}`
	if status, answer := send(t, "POST", url+"/v1/orders", body); status != http.StatusServiceUnavailable {
		t.Errorf("an order while only a stranger is there: %d %s", status, answer)
	}
	defer announcer.Announce(t.Context(), "stock", strings.TrimPrefix(stockServer.URL, "http://"), false, token)()
	eventually(t, "orders go through", func() bool {
		status, _ := send(t, "POST", url+"/v1/orders", body)
		return status == http.StatusCreated
	})
	for range 4 {
		if status, answer := send(t, "POST", url+"/v1/orders", body); status != http.StatusCreated {
			t.Errorf("an order beside a stranger: %d %s", status, answer)
		}
	}
	stop()
	must(t, <-ended)
}

// TestATableThatIsGoneIsNotReady: no order can succeed, until the table is back.
func TestATableThatIsGoneIsNotReady(t *testing.T) {
	cfg := testConfig(t, "http://127.0.0.1:1")
	url, stop, ended := start(t, cfg)
	db, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	for _, c := range []struct {
		statement, answer string
		status            int
	}{
		{"RENAME TABLE order_items TO away", `"failing":["mysql"]`, http.StatusServiceUnavailable},
		{"RENAME TABLE away TO order_items", `"status":"ready"`, http.StatusOK},
	} {
		must(t, db.Exec(c.statement).Error)
		eventually(t, c.statement+" is seen", func() bool {
			status, answer := send(t, "GET", url+"/readyz", "")
			return status == c.status && strings.Contains(answer, c.answer)
		})
	}
	stop()
	must(t, <-ended)
}

// A refused token makes the service unready: no order could be carried out. A stock service that is away does not.
func TestARefusedTokenIsNotReady(t *testing.T) {
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	cfg := testConfig(t, stockServer.URL)
	_, stop, ended := start(t, cfg)
	stop()
	must(t, <-ended)

	cfg.Token = "another-tests-token"
	url, stop, ended := listen(t, cfg)
	eventually(t, "only the token fails", func() bool {
		status, answer := send(t, "GET", url+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(answer, `"failing":["token"]`)
	})
	stockServer.CloseClientConnections()
	stockServer.Close()
	eventually(t, "it is ready without a stock service", func() bool {
		status, _ := send(t, "GET", url+"/readyz", "")
		return status == http.StatusOK
	})
	stop()
	must(t, <-ended)
}

// A setting that the service cannot start with is an error of run, at once.
func TestRefusedStart(t *testing.T) {
	good := testConfig(t, "http://127.0.0.1:1")
	for want, spoil := range map[string]func(*settings){
		"TLS_CERT and TLS_KEY": func(c *settings) { c.TLSKey = "no key" },
		"read DSN":             func(c *settings) { c.MySQLDSN = "nowhere" },
		"base URL":             func(c *settings) { c.StockURLs = []string{"127.0.0.1:1:2"} },
		"missing port":         func(c *settings) { c.ListenAddr = "127.0.0.1" },
	} {
		cfg := good
		spoil(&cfg)
		err := run(t.Context(), cfg, func(string) { t.Errorf("%s: it serves", want) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	cfg := settings{Settings: service.Settings{MySQLDSN: "app:hunter2@tcp(db)/order_db", Token: "hunter2"}}
	for _, text := range []string{
		fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg),
		fmt.Sprintf("%v %s", cfg.Token, cfg.MySQLDSN),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := map[string]string{
		"MYSQL_DSN": "x", "REDIS_ADDR": "x:1", "ZOOKEEPER_ADDRS": "x:1", "STOCK_URLS": "http://x", "SERVICE_TOKEN": token,
	}
	for _, c := range []struct{ name, bad, want string }{
		{"MYSQL_DSN", "", "MYSQL_DSN"},
		{"SERVICE_TOKEN", "", "SERVICE_TOKEN"},
		{"STOCK_TIMEOUT", "soon", "STOCK_TIMEOUT"},
		{"STOCK_TIMEOUT", "0s", "STOCK_TIMEOUT (0s) must be above 0"},
		{"STOCK_URLS", "http://x:1/shop", "STOCK_URLS (http://x:1/shop) must be http://host:port"},
		{"STOCK_URLS", "http://x:1,http://y?z=1", "STOCK_URLS (http://y?z=1) must be http://host:port"},
		{"STOCK_URLS", "x:1", "STOCK_URLS (x:1) must be http://host:port"},
		{"STOCK_URLS", "http://x:99999", "STOCK_URLS (http://x:99999) must be http://host:port"},
		{"LISTEN_ADDR", "8080", "LISTEN_ADDR (8080) must be host:port or :port"},
		{"CONSOLE_URL", "127.0.0.1:8090", "CONSOLE_URL"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4318", "must begin with http:// or https://"},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-1", "OTEL_BSP_MAX_QUEUE_SIZE (-1) must be a whole number above 0"},
		{"RATE_LIMIT_ORDERS", "10", `RATE_LIMIT_ORDERS: "10" is not a rate such as 100-S`},
		{"TRUSTED_PROXIES", "front", "TRUSTED_PROXIES"},
		{"IDEMPOTENCY_KEY", "maybe", "IDEMPOTENCY_KEY (maybe) must be optional or required"},
		{"CONFIRM_BUDGET", "-1s", "CONFIRM_BUDGET (-1s) must be above 0"},
		{"PENDING_LIMIT", "1s", "PENDING_LIMIT (1s) must not be below CONFIRM_BUDGET (3s)"},
		{"CANCEL_AFTER", "5s", "CANCEL_AFTER (5s) must be above PENDING_LIMIT (5s)"},
		{"RECONCILE_INTERVAL", "0s", "RECONCILE_INTERVAL (0s) must be above 0"},
		{"RECONCILE_MAX_PAUSE", "0s", "RECONCILE_MAX_PAUSE (0s) must be above 0"},
		{"PRICE_TTL", "0s", "PRICE_TTL (0s) must be above 0"},
		{"MAX_IN_FLIGHT", "0", "MAX_IN_FLIGHT (0) must be above 0"},
		{"MYSQL_MAX_CONNS", "0", "MYSQL_MAX_CONNS (0) must be above 0"},
		{"ZOOKEEPER_ROOT", "orderstock", "ZOOKEEPER_ROOT (orderstock) must begin with /"},
	} {
		t.Run(c.name+"="+c.bad, func(t *testing.T) {
			for name, value := range good {
				t.Setenv(name, value)
			}
			if _, err := config.Read[settings](); err != nil {
				t.Fatal(err)
			}
			t.Setenv(c.name, c.bad)
			if _, err := config.Read[settings](); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s=%q: error %v; want %q", c.name, c.bad, err, c.want)
			}
		})
	}
}

// TestListsAreReadAlike: entries are trimmed, and empty ones are refused by the variable's name.
func TestListsAreReadAlike(t *testing.T) {
	for name, value := range map[string]string{
		"MYSQL_DSN": "x", "REDIS_MASTER": "x", "REDIS_ADDR": "x:1", "ZOOKEEPER_ADDRS": "x:1", "SERVICE_TOKEN": token,
	} {
		t.Setenv(name, value)
	}
	for name, read := range map[string]func(settings) string{
		"ZOOKEEPER_ADDRS": func(s settings) string { return strings.Join(s.ZooKeeperAddrs, ",") },
		"REDIS_ADDR":      func(s settings) string { return strings.Join(s.RedisAddrs, ",") },
		"STOCK_URLS":      func(s settings) string { return strings.Join(s.StockURLs, ",") },
		"TRUSTED_PROXIES": func(s settings) string { return fmt.Sprint(s.TrustedProxies) },
	} {
		one, two, want := "10.0.0.1:1", "10.0.0.2:2", "10.0.0.1:1,10.0.0.2:2"
		if name == "STOCK_URLS" {
			one, two, want = "http://a:1", "https://b", "http://a:1,https://b"
		}
		if name == "TRUSTED_PROXIES" {
			one, two, want = "10.0.0.0/8", "::/0", "[10.0.0.0/8 ::/0]"
		}
		for _, value := range []string{one + "," + two, " " + one + " ,\t" + two + " \r\n"} {
			t.Setenv(name, value)
			if cfg, err := config.Read[settings](); err != nil || read(cfg) != want {
				t.Errorf("%s=%q is %s, %v; want %s", name, value, read(cfg), err, want)
			}
		}
		for _, value := range []string{",", one + ",", "," + one, one + ",," + two, one + ", ," + two, one + " " + two} {
			t.Setenv(name, value)
			if _, err := config.Read[settings](); err == nil || !strings.Contains(err.Error(), name+": entry ") {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
		t.Setenv(name, one)
	}
	t.Setenv("ZOOKEEPER_ADDRS", " ")
	if _, err := config.Read[settings](); err == nil || !strings.Contains(err.Error(), "ZOOKEEPER_ADDRS names no server") {
		t.Errorf("no ZooKeeper: %v", err)
	}
}

func TestHelpListsTheEnvironment(t *testing.T) {
	var out strings.Builder
	c := newCommand()
	c.SetOut(&out)
	c.SetArgs([]string{"--help"})
	must(t, c.Execute())
	for _, want := range []string{"CONFIRM_BUDGET (default 3s)\n        bounds a client's wait", "MYSQL_DSN (required)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the help:\n%s", want, out.String())
		}
	}
}
