package system_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/system"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

const tlsToken = "token-of-the-test"

// TestTLS lets the services speak TLS with MySQL, which refuses them otherwise, and HTTPS with each other and with
// clients, by certificates that the test's own authority signs.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := newAuthority(t, dir)
	cfg := config(t)
	mysql, err := servers.StartMySQL(t.Context(), servers.Options{Dir: filepath.Join(dir, "mysql"), Args: []string{
		"--ssl-ca=" + authority.file, "--ssl-cert=" + authority.issue(t, "mysql", net.IPv4(127, 0, 0, 1)),
		"--ssl-key=" + filepath.Join(dir, "mysql.key"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mysql.Kill() })
	cfg.Servers.MySQL, cfg.Token = mysql, tlsToken
	a := &cfg.Accounts
	for _, user := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
		user.Password = "hunter2"
	}
	if err := migrations.Run(t.Context(), migrations.Config{AdminDSN: mysql.AdminDSN(), Accounts: *a}); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{cfg.Accounts.OrderApp.Name, cfg.Accounts.StockApp.Name} {
		if err := mysql.Exec(t.Context(), "ALTER USER '"+user+"'@'%' REQUIRE SSL"); err != nil {
			t.Fatal(err)
		}
	}
	orderDSN := mysql.DSN(cfg.Accounts.OrderApp.Name, "hunter2", cfg.Accounts.OrderDB)
	plain, err := mysqldb.Open(orderDSN, mysqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := mysqldb.ReadyCheck(plain)(t.Context()); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("MySQL without TLS: %v", err)
	}
	if err := mysqldb.Close(plain); err != nil {
		t.Error(err)
	}

	// The certificate of the stock service is for a name on any machine; the order service's for the address.
	common := map[string]string{
		"REDIS_ADDR": cfg.Servers.Redis.Addr(), "ZOOKEEPER_ADDRS": cfg.Servers.ZooKeeper.Addr(),
		"ZOOKEEPER_ROOT": cfg.ZooKeeperRoot, "SERVICE_TOKEN": cfg.Token,
		"SSL_CERT_FILE": authority.file, "SSL_CERT_DIR": t.TempDir(),
	}
	stock := authority.serve(t, cfg.Bin, "stock-service", common, map[string]string{
		"MYSQL_DSN":     withTLS(mysql.DSN(cfg.Accounts.StockApp.Name, "hunter2", cfg.Accounts.StockDB)),
		"TLS_CERT_FILE": authority.issue(t, "stock.internal"), "TLS_KEY_FILE": filepath.Join(dir, "stock.internal.key"),
	})
	order := authority.serve(t, cfg.Bin, "order-service", common, map[string]string{
		"MYSQL_DSN": withTLS(orderDSN), "STOCK_SERVER_NAME": "stock.internal",
		"TLS_CERT_FILE": authority.issue(t, "order", net.IPv4(127, 0, 0, 1)), "TLS_KEY_FILE": filepath.Join(dir, "order.key"),
	})
	if answer := authority.send(t, "stock.internal", "https://"+stock.Addr()+"/v1/stock/1/restock",
		`{"flag":"first","num":5}`); answer["num"] != 5.0 {
		t.Fatalf("restocked: %v", answer)
	}
	answer := authority.send(t, "", "https://"+order.Addr()+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
	serverstest.Eventually(t, "the order's outcome", func() bool { // a slow machine's comes after CONFIRM_BUDGET
		if answer["status"] == "PENDING" {
			answer = authority.send(t, "", fmt.Sprintf("https://%s/v1/orders/%v", order.Addr(), answer["id"]), "")
		}
		return answer["status"] != "PENDING"
	})
	if answer["status"] != "CONFIRMED" {
		t.Errorf("ordered: %v", answer)
	}
	if resp, err := http.Get("http://" + order.Addr() + "/healthz"); err == nil { // of net/http itself
		if resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("HTTP where HTTPS is spoken: %s", resp.Status)
		}
	}

	// A stock service whose certificate is for another name is not called: nothing is ordered.
	stranger := authority.serve(t, cfg.Bin, "order-service", common, map[string]string{
		"MYSQL_DSN": withTLS(orderDSN), "STOCK_SERVER_NAME": "other.internal",
		"TLS_CERT_FILE": filepath.Join(dir, "order.pem"), "TLS_KEY_FILE": filepath.Join(dir, "order.key"),
	})
	if answer := authority.send(t, "", "https://"+stranger.Addr()+"/v1/orders",
		`{"items":[{"goods_id":"1","num":1}]}`); answer["code"] != "stock_unavailable" {
		t.Errorf("ordered of a stock service of another name: %v", answer)
	}
	// Nor does a service talk to a MySQL server whose certificate it cannot check.
	distrustful := maps.Clone(common)
	distrustful["SSL_CERT_FILE"] = os.DevNull
	lost := authority.start(t, cfg.Bin, "stock-service", distrustful, map[string]string{
		"MYSQL_DSN": withTLS(mysql.DSN(cfg.Accounts.StockApp.Name, "hunter2", cfg.Accounts.StockDB)),
	}, nil)
	eventually(t, "a service that cannot check MySQL's certificate says so", func() bool {
		resp, err := described(t, http.DefaultTransport).Get("http://" + lost.Addr() + "/readyz")
		if err != nil {
			return false
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable && bytes.Contains(body, []byte("mysql"))
	})
}

func withTLS(dsn string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&tls=true"
	}
	return dsn + "?tls=true"
}

// authority signs certificates.
type authority struct {
	dir, file string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	pool      *x509.CertPool
}

func newAuthority(t *testing.T, dir string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{
		dir: dir, file: writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", der),
		key: key, pool: x509.NewCertPool(),
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

// issue writes name.pem, for that name and the addresses, and name.key, and returns the path of the certificate.
func (a *authority) issue(t *testing.T, name string, addrs ...net.IP) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(a.dir, name+".key"), "PRIVATE KEY", secret)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name}, IPAddresses: addrs, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, filepath.Join(a.dir, name+".pem"), "CERTIFICATE", der)
}

func writePEM(t *testing.T, path, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a service that speaks HTTPS, and asks it as its containers do whether it is ready.
func (a *authority) serve(t *testing.T, bin, service string, common, own map[string]string) *servers.Server {
	t.Helper()
	env := maps.Clone(common)
	maps.Copy(env, own)
	ready := func(ctx context.Context) error {
		health := exec.CommandContext(ctx, filepath.Join(bin, service), "health")
		health.Env = append(os.Environ(), system.Assignments(env)...)
		if out, err := health.CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
		return nil
	}
	return a.start(t, bin, service, env, env, ready)
}

func (a *authority) start(
	t *testing.T, bin, service string, common, own map[string]string, ready func(context.Context) error,
) *servers.Server {
	t.Helper()
	port, err := servers.PortOr(0)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", big.NewInt(int64(port)).String())
	own["LISTEN_ADDR"] = addr
	s, err := servers.Start(t.Context(), servers.Spec{
		Name: service, Path: filepath.Join(bin, service), Args: []string{"serve"}, Dir: t.TempDir(),
		Env: system.Assignments(common, own), Addr: addr, Ready: ready,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s
}

// send posts the body, or gets what is there if there is none, to or from a service whose certificate must be for the
// name, or for the address if that is empty.
func (a *authority) send(t *testing.T, name, url, body string) map[string]any {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool, ServerName: name}}
	defer transport.CloseIdleConnections()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+tlsToken)
	resp, err := described(t, transport).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
