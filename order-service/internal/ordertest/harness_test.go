// Package ordertest_test tests the order service against the real stock
// service, with both on real MySQL, Redis and ZooKeeper servers in one process.
// It is the one place of the order service that imports the stock service.
package ordertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"
	"gorm.io/gorm"

	"orderstock/migrations"
	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
	"orderstock/stock-service/stockhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

const token = "test-token"

// enough is a budget for orders that are to succeed: on a machine that stands still for some seconds, and where a
// deduction waits for a held row at each of its tries.
var enough = order.Config{ConfirmBudget: 15 * time.Second, PendingLimit: 16 * time.Second}

var (
	quiet = slog.New(slog.DiscardHandler)
	flags atomic.Int64
)

// world is one stock service and the databases of both services.
type world struct {
	t         *testing.T
	orderDB   *gorm.DB
	orderDSN  string
	stockDB   *gorm.DB
	stockURL  string
	client    *stockapi.Client // past the wire
	wire      *wire
	stock     stockapi.Config // of the replicas' clients
	redisAddr string
	redisDB   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, redisAddr: serverstest.Redis(t).Addr(), redisDB: serverstest.RedisDB(t),
		stock: stockapi.Config{Token: token, BreakerRest: time.Second},
	}
	w.orderDB, w.orderDSN = database(t, migrations.Order)
	w.stockDB, _ = database(t, migrations.Stock)
	ledger := stockdb.New(w.stockDB)
	hints := redisdb.OpenFlags(redisdb.Server{Addrs: []string{w.redisAddr}, DB: w.redisDB}, quiet)
	strategy, err := compared.New("conditional-update", compared.Config{Ledger: ledger})
	must(t, err)
	handler := contracttest.Read(t, stockhttp.OpenAPI).Check(t,
		stockhttp.New(stock.NewService(hints, ledger, strategy), stockhttp.Config{Token: token}, quiet))
	direct := httptest.NewServer(handler)
	w.wire = newWire(handler)
	broken := httptest.NewServer(w.wire)
	w.stockURL = broken.URL
	w.client, err = stockapi.NewClient([]string{direct.URL}, stockapi.Config{Token: token, Tries: 1, Timeout: time.Minute})
	must(t, err)
	t.Cleanup(func() {
		w.wire.heal()
		broken.Close()
		direct.Close()
		w.client.Close()
		must(t, strategy.Close())
		ledger.Close()
		must(t, hints.Close())
	})
	return w
}

// serve starts a replica in a new world that has so many pieces of product 1.
func serve(t *testing.T, cfg order.Config, pieces int64) (*world, *replica) {
	t.Helper()
	w := newWorld(t)
	w.restock(1, pieces)
	return w, w.replica(cfg)
}

// database makes a migrated database and opens it.
func database(t *testing.T, schema string) (db *gorm.DB, dsn string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	must(t, err)
	cfg.ParseTime = true
	dsn = cfg.FormatDSN()
	db = open(t, dsn, mysqldb.Options{})
	pool, err := db.DB()
	must(t, err)
	must(t, migrations.Up(t.Context(), pool, schema))
	return db, dsn
}

// open opens a database as a service does.
func open(t *testing.T, dsn string, opts mysqldb.Options) *gorm.DB {
	t.Helper()
	db, err := mysqldb.Open(dsn, opts)
	must(t, err)
	t.Cleanup(func() { must(t, mysqldb.Close(db)) })
	return db
}

// replica is one order service over the world's databases.
type replica struct {
	*order.Service
	w     *world
	store *orderdb.DB
	stock *stockapi.Client
	http  *httptest.Server
}

// replica starts an order service. Its limits are the real ones unless cfg says otherwise.
func (w *world) replica(cfg order.Config) *replica {
	w.t.Helper()
	r := &replica{w: w, store: orderdb.New(w.orderDB)}
	hints := redisdb.OpenFlags(redisdb.Server{Addrs: []string{w.redisAddr}, DB: w.redisDB}, quiet)
	var err error
	r.stock, err = stockapi.NewClient([]string{w.stockURL}, w.stock)
	must(w.t, err)
	r.Service = order.NewService(r.store, r.stock, hints, &ids, cfg)
	r.http = httptest.NewServer(contracttest.Read(w.t, orderhttp.OpenAPI).Check(w.t,
		orderhttp.New(r.Service, orderhttp.Config{}, quiet)))
	w.t.Cleanup(func() {
		w.wire.heal()
		r.http.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 20*time.Second)
		defer cancel()
		must(w.t, r.Close(ctx))
		r.stock.Close()
		r.store.Close()
		must(w.t, hints.Close())
	})
	return r
}

// cuttable starts a replica whose connections to MySQL the returned proxy can drop.
func (w *world) cuttable(cfg order.Config) (*replica, *serverstest.Proxy) {
	w.t.Helper()
	return w.behind(cfg, nil)
}

// behind starts a replica whose connections to MySQL go through the returned proxy, which has that cut.
func (w *world) behind(cfg order.Config, cut func(sent []byte) bool) (*replica, *serverstest.Proxy) {
	w.t.Helper()
	dsn, err := mysql.ParseDSN(w.orderDSN)
	must(w.t, err)
	proxy := serverstest.NewProxy(w.t, dsn.Addr, cut)
	dsn.Addr = proxy.Addr
	behind := *w
	behind.orderDB = open(w.t, dsn.FormatDSN(), mysqldb.Options{})
	return behind.replica(cfg), proxy
}

// ids are rising and unique within the process. The service itself takes its ids from pkg/coordination.
var ids idSource

type idSource struct{ last atomic.Int64 }

func (s *idSource) Next() (int64, error) { return s.at(time.Now()), nil }

// at returns an id as it would have been given at that time.
func (s *idSource) at(t time.Time) int64 {
	return (t.UnixMilli()-snowflake.Epoch)<<22 + s.last.Add(1)%(1<<22)
}

// restock adds pieces of a product at a price of 250.
func (w *world) restock(goodsID, num int64) {
	w.t.Helper()
	price := int64(250)
	_, err := w.client.Restock(w.t.Context(), operation.Restock{
		GoodsID: goodsID, Flag: "restock-" + strconv.FormatInt(flags.Add(1), 10), Num: num, Price: &price,
	})
	must(w.t, err)
}

func (w *world) level(goodsID int64) int64 {
	w.t.Helper()
	goods, err := w.client.Stock(w.t.Context(), goodsID)
	must(w.t, err)
	if len(goods) != 1 {
		w.t.Fatalf("goods %d: %v", goodsID, goods)
	}
	return goods[0].Num
}

// wantLevel checks the product's level, and that it is the sum of the product's flow rows.
func (w *world) wantLevel(goodsID, want int64) {
	w.t.Helper()
	var sum int64
	must(w.t, w.stockDB.Raw("SELECT COALESCE(SUM(num), 0) FROM stock_flow WHERE goods_id = ?", goodsID).Scan(&sum).Error)
	if level := w.level(goodsID); level != want || sum != want {
		w.t.Errorf("goods %d: level %d, flows sum to %d, want %d", goodsID, level, sum, want)
	}
}

// wantRows checks how many orders and items there are.
func (w *world) wantRows(orders, items int64) {
	w.t.Helper()
	var o, i int64
	must(w.t, w.orderDB.Table("orders").Count(&o).Error)
	must(w.t, w.orderDB.Table("order_items").Count(&i).Error)
	if o != orders || i != items {
		w.t.Errorf("%d orders and %d items are written, want %d and %d", o, i, orders, items)
	}
}

// state returns the state recorded under the order's flag, or "" if there is none.
func (w *world) state(o order.Order) operation.State {
	w.t.Helper()
	flows, err := w.client.Flows(w.t.Context(), o.Flag())
	must(w.t, err)
	if len(flows.Operations) == 0 {
		return ""
	}
	return flows.Operations[0].State
}

// wantOrder checks the stored order.
func (r *replica) wantOrder(id int64, status, outcome order.Status) order.Order {
	r.w.t.Helper()
	o, err := r.store.Get(r.w.t.Context(), id)
	must(r.w.t, err)
	if o.Status != status || o.Outcome != outcome {
		r.w.t.Errorf("order %d is %s with outcome %q (%s), want %s with %q", id, o.Status, o.Outcome, o.Reason, status,
			outcome)
	}
	return o
}

// answer is a client's answer.
type answer struct {
	status   int
	replayed bool
	retry    string
	body     string
	order    struct {
		ID     string
		Status order.Status
		Reason string
		Total  int64
		Code   string
		Items  []struct {
			GoodsID string `json:"goods_id"`
			Num     int64
			Price   int64
		}
	}
}

func (a answer) id(t *testing.T) int64 {
	t.Helper()
	id, ok := operation.ParseID(a.order.ID)
	if !ok {
		t.Fatalf("no order id in %d %s", a.status, a.body)
	}
	return id
}

// want checks the answer's status and, if one is given, that of the order.
func (a answer) want(t *testing.T, status int, end ...order.Status) {
	t.Helper()
	if a.status != status || len(end) > 0 && a.order.Status != end[0] {
		t.Errorf("got %d %s, want %d %v", a.status, a.body, status, end)
	}
}

func (a answer) wantProblem(t *testing.T, status int, code string) {
	t.Helper()
	if a.status != status || a.order.Code != code {
		t.Errorf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
}

// call sends a request to the replica. Headers come in pairs.
func (r *replica) call(method, path, body string, headers ...string) answer {
	r.w.t.Helper()
	req, err := http.NewRequestWithContext(r.w.t.Context(), method, r.http.URL+path, strings.NewReader(body))
	must(r.w.t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header[headers[i]] = []string{headers[i+1]}
	}
	resp, err := r.http.Client().Do(req)
	if err != nil {
		r.w.t.Error(err)
		return answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.w.t.Error(err)
	}
	a := answer{
		status: resp.StatusCode, body: string(bytes.TrimSpace(raw)),
		replayed: resp.Header.Get("Idempotency-Replayed") == "true", retry: resp.Header.Get("Retry-After"),
	}
	if err := json.Unmarshal(raw, &a.order); err != nil && len(raw) > 0 && raw[0] == '{' {
		// A problem's status is a number.
		var p struct{ Code string }
		if err := json.Unmarshal(raw, &p); err != nil {
			r.w.t.Errorf("answer %d is not JSON: %s", resp.StatusCode, raw)
		}
		a.order.Code = p.Code
	}
	return a
}

func (r *replica) place(key string, goodsID, num int64) answer {
	r.w.t.Helper()
	if key == "" {
		return r.call("POST", "/v1/orders", items(goodsID, num))
	}
	return r.call("POST", "/v1/orders", items(goodsID, num), "Idempotency-Key", key)
}

// placeHeld places an order and returns once its deduction is held on its way to the stock service, until wire.heal.
// The answer comes later.
func (r *replica) placeHeld(key string, goodsID, num int64) <-chan answer {
	r.w.t.Helper()
	r.w.wire.breakAll(deductions(hold))
	placed := make(chan answer, 1)
	go func() { placed <- r.place(key, goodsID, num) }()
	eventually(r.w.t, "the deduction is on its way", func() bool { return r.w.wire.holding() > 0 })
	return placed
}

func items(goodsID, num int64) string {
	return `{"items":[{"goods_id":"` + strconv.FormatInt(goodsID, 10) + `","num":` + strconv.FormatInt(num, 10) + `}]}`
}

var must = serverstest.Must

var eventually = serverstest.Eventually
