package system_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
	"orderstock/pkg/servers/serverstest"
)

// TestRules: each alert fires when its test says so, and stays quiet otherwise.
func TestRules(t *testing.T) {
	t.Parallel()
	observe := observeDir(t)
	promtool(t, observe, nil, "check", "rules", "rules.yml")
	promtool(t, observe, nil, "test", "rules", "rules_test.yml")

	var rules struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alert string `yaml:"alertname"`
				Fires []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, filepath.Join(observe, "rules.yml"), &rules)
	readYAML(t, filepath.Join(observe, "rules_test.yml"), &tests)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, at := range test.AlertRuleTest {
			if len(at.Fires) > 0 {
				fires[at.Alert] = true
			} else {
				quiet[at.Alert] = true
			}
		}
	}
	names := map[string]bool{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			names[rule.Alert] = true
		}
	}
	if len(names) == 0 || !maps.Equal(names, fires) || !maps.Equal(names, quiet) {
		t.Errorf("rules.yml has the alerts %v\nrules_test.yml has some fire: %v\nand stay quiet: %v", names, fires, quiet)
	}
}

func observeDir(t *testing.T) string {
	t.Helper()
	root, err := system.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, ".compose", "observe")
}

func readYAML(t *testing.T, file string, to any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
}

// TestMetrics runs both services and Prometheus itself: promtool finds nothing to say of the metrics, and each metric
// that a panel or a rule names is served. It takes more than 10 s: six programs start, and promtool is run once for
// each service as well.
func TestMetrics(t *testing.T) {
	t.Parallel()
	observe := observeDir(t)
	cfg := config(t)
	cfg.OrderEnv = map[string]string{"RATE_LIMIT_READS": "1000-S"}
	st := systemtest.Start(t, cfg)
	send(t, st, "POST", st.Stocks[0].URL()+"/v1/stock/1/restock", `{"flag":"first","num":5}`)
	send(t, st, "POST", st.Orders[0].URL()+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
	send(t, st, "GET", st.Orders[0].URL()+"/v1/orders", "")

	for _, s := range st.Replicas() {
		metrics := send(t, st, "GET", "http://"+s.OpsAddr+"/metrics", "")
		promtool(t, observe, metrics, "check", "metrics")
	}
	prometheus := startPrometheus(t, st, observe)
	type vector struct{ Result []any }
	eventually(t, "Prometheus has scraped both services", func() bool { // "up" comes once a whole page is read
		return len(query[vector](t, prometheus, "/api/v1/query?query=up==1").Result) == len(st.Replicas())
	})
	served := query[[]string](t, prometheus, "/api/v1/label/__name__/values")
	for file, names := range named(t, observe) {
		if len(names) < 5 {
			t.Errorf("%s names %d metrics only", file, len(names))
		}
		for _, name := range names {
			if !slices.Contains(served, name) {
				t.Errorf("%s: no service serves %s", file, name)
			}
		}
	}
}

// named returns the metrics that the dashboard and the rules name.
func named(t *testing.T, observe string) map[string][]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile(filepath.Join(observe, "grafana", "dashboard.json"))
	if err == nil {
		err = json.Unmarshal(text, &board)
	}
	rules, err2 := os.ReadFile(filepath.Join(observe, "rules.yml"))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	exprs := map[string]string{"rules.yml": string(rules)}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			exprs["dashboard.json"] += target.Expr + "\n"
		}
	}
	names := map[string][]string{}
	metric := regexp.MustCompile(`\b(orderstock|go)_[a-z0-9_]+`)
	for file, expr := range exprs {
		names[file] = slices.Compact(slices.Sorted(slices.Values(metric.FindAllString(expr, -1))))
	}
	return names
}

// startPrometheus scrapes the services every second, under the rules, and returns its URL.
func startPrometheus(t *testing.T, st *system.System, observe string) string {
	t.Helper()
	targets := map[system.Kind][]string{}
	for _, s := range st.Replicas() {
		targets[s.Kind] = append(targets[s.Kind], s.OpsAddr)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nrule_files: [%s/rules.yml]\nscrape_configs:\n", observe)
	for _, kind := range slices.Sorted(maps.Keys(targets)) {
		config += fmt.Sprintf("  - {job_name: %s-service, static_configs: [{targets: ['%s']}]}\n",
			kind, strings.Join(targets[kind], "','"))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := servers.PortOr(0)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	path, err := programs.Prometheus.Find()
	if err != nil {
		t.Fatal(err)
	}
	server, err := servers.Start(t.Context(), servers.Spec{
		Name: "prometheus", Path: path, Dir: dir, Addr: addr,
		Args: []string{
			"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + addr,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	return "http://" + addr
}

// query asks Prometheus; while it starts, the answer is empty.
func query[T any](t *testing.T, prometheus, path string) T {
	t.Helper()
	var answer struct{ Data T }
	resp, err := http.Get(prometheus + path)
	if err != nil {
		return answer.Data
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Logf("%s: %v", path, err)
	}
	return answer.Data
}

func promtool(t *testing.T, dir string, stdin []byte, args ...string) {
	t.Helper()
	path, err := programs.Promtool.Find()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func send(t *testing.T, st *system.System, method, target, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+st.Target().StockToken)
	resp, err := described(t, http.DefaultTransport).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, target, resp.StatusCode, answer, err)
	}
	return answer
}

var eventually = serverstest.Eventually
