package service_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/config"
	"orderstock/pkg/service"
)

// long is a token of the least length.
const long = "0123456789abcdef"

type shop struct {
	service.Settings

	Confirm time.Duration `env:"CONFIRM_TIMEOUT" envDefault:"2s"`
	Request time.Duration `env:"REQUEST_TIMEOUT" envDefault:"1s"`
	Clerks  int           `env:"CLERKS" envDefault:"0"`
}

func (s shop) Check() error {
	request := config.Var("REQUEST_TIMEOUT", s.Request)
	return errors.Join(s.Settings.Check(), config.Var("CONFIRM_TIMEOUT", s.Confirm).Positive(),
		request.Above(config.Var("CONFIRM_TIMEOUT", s.Confirm)), request.NotBelow(config.Var("CONFIRM_TIMEOUT", s.Confirm)),
		config.Var("CLERKS", s.Clerks).AtLeast(1))
}

// TestAnErrorNamesTheInvalidVariable: each wrong variable is named with its value and the valid ones.
func TestAnErrorNamesTheInvalidVariable(t *testing.T) {
	good := map[string]string{
		"MYSQL_DSN": "x", "REDIS_ADDR": "x:1", "ZOOKEEPER_ADDRS": "x:1,y:1", "SERVICE_TOKEN": long,
		"CONFIRM_TIMEOUT": "2s", "REQUEST_TIMEOUT": "3s", "CLERKS": "1",
	}
	for _, c := range []struct{ name, value, want string }{
		{"CLERKS", "2", ""},
		{"CLERKS", "0", "CLERKS (0) must be at least 1"},
		{"CLERKS", "many", `CLERKS: strconv.ParseInt: parsing "many"`},
		{"CONFIRM_TIMEOUT", "-1s", "CONFIRM_TIMEOUT (-1s) must be above 0"},
		{"REQUEST_TIMEOUT", "1s", "REQUEST_TIMEOUT (1s) must be above CONFIRM_TIMEOUT (2s)"},
		{"REQUEST_TIMEOUT", "1s", "REQUEST_TIMEOUT (1s) must not be below CONFIRM_TIMEOUT (2s)"},
		{"REQUEST_TIMEOUT", "2s", "REQUEST_TIMEOUT (2s) must be above CONFIRM_TIMEOUT (2s)"},
		{"SHUTDOWN_TIMEOUT", "0s", "SHUTDOWN_TIMEOUT (0s) must be above 0"},
		{"ZOOKEEPER_SESSION_TIMEOUT", "999ms", "ZOOKEEPER_SESSION_TIMEOUT (999ms) must be from 1s to 10m0s"},
		{"ZOOKEEPER_SESSION_TIMEOUT", "600h", "must be from 1s to 10m0s"},
		{"ZOOKEEPER_ADDRS", "x:1,y", "ZOOKEEPER_ADDRS (y) must be host:port"},
		{"REDIS_ADDR", "x:0", "REDIS_ADDR (x:0) must be host:port"},
		{"OPS_ADDR", "x:65536", "OPS_ADDR (x:65536) must be host:port or :port"},
		{"OPS_ADDR", ":0", ""},
		{"SERVICE_TOKEN", long[1:], "SERVICE_TOKEN must have at least 16 characters"},
		{"STOCK_PARTITIONS", "0", "STOCK_PARTITIONS (0) must be from 1 to 1024"},
		{"STOCK_PARTITIONS", "1025", "STOCK_PARTITIONS (1025) must be from 1 to 1024"},
		{"GOMAXPROCS", "2", ""},
		{"GOMAXPROCS", "-1", "GOMAXPROCS (-1) must be at least 0"},
		{"GOMAXPROCS", "all", "GOMAXPROCS"},
		{"ZOOKEEPER_ROOT", "orderstock", "ZOOKEEPER_ROOT (orderstock) must begin with /"},
		{"ZOOKEEPER_AUTH", "orderstock:secret", ""},
		{"ZOOKEEPER_AUTH", "secret", "ZOOKEEPER_AUTH must be user:password"},
		{"ZOOKEEPER_AUTH", "orderstock:", "ZOOKEEPER_AUTH must be user:password"},
		{"REDIS_AUTH", "order:secret", ""},
		{"REDIS_AUTH", ":secret", "REDIS_AUTH must be user:password"},
		{"SERVICE_TOKEN", long + "\r\n", ""},
		{"SERVICE_TOKEN", "\ufeff" + long, ""},
		{"SERVICE_TOKEN", "x ", "SERVICE_TOKEN must be visible ASCII"},
		{"SERVICE_TOKEN", "x\ny", "SERVICE_TOKEN must be visible ASCII"},
		{"SERVICE_TOKEN", "clé", "SERVICE_TOKEN must be visible ASCII"},
		{"MYSQL_DSN", "", "MYSQL_DSN"},
		{"REDIS_ADDR", "", "REDIS_ADDR is not set"},
		{"REDIS_ADDR", "a:1,b:1", "set REDIS_MASTER"},
		{"REDIS_MASTER", "flags", ""},
		{"LOG_LEVEL", "loud", "LOG_LEVEL"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			for name, value := range good {
				t.Setenv(name, value)
			}
			t.Setenv(c.name, c.value)
			_, err := config.Read[shop]()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v; want %q", err, c.want)
			}
		})
	}
}

func TestRedisBySentinels(t *testing.T) {
	for name, value := range map[string]string{
		"MYSQL_DSN": "x", "ZOOKEEPER_ADDRS": "x:1", "SERVICE_TOKEN": long, "CONFIRM_TIMEOUT": "2s", "REQUEST_TIMEOUT": "3s",
		"CLERKS": "1", "REDIS_ADDR": "a:1,b:1",
	} {
		t.Setenv(name, value)
	}
	if _, err := config.Read[shop](); err == nil || !strings.Contains(err.Error(), "set REDIS_MASTER") {
		t.Errorf("Sentinels of nobody: %v", err)
	}
	t.Setenv("REDIS_MASTER", "flags")
	s, err := config.Read[shop]()
	if where := s.Redis(); err != nil || len(where.Addrs) != 2 || where.Master != "flags" {
		t.Errorf("Redis at %v, master %q: %v", where.Addrs, where.Master, err)
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	s := service.Settings{MySQLDSN: "app:hunter2@tcp(db)/order_db", Token: "hunter2"}
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%v %s", s.Token, s.MySQLDSN),
		s.Token.LogValue().String(),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("printed: %s", text)
		}
	}
}

// TestASecretMayStandInAFile, as the official images take theirs.
func TestASecretMayStandInAFile(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("\ufeff"+long+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"MYSQL_DSN": "x", "REDIS_ADDR": "x:1", "ZOOKEEPER_ADDRS": "x:1", "CONFIRM_TIMEOUT": "2s", "REQUEST_TIMEOUT": "3s",
		"CLERKS": "1", "SERVICE_TOKEN_FILE": token,
	} {
		t.Setenv(name, value)
	}
	if s, err := config.Read[shop](); err != nil || string(s.Token) != long {
		t.Errorf("read %d characters, %v", len(s.Token), err)
	}
	t.Setenv("SERVICE_TOKEN", "x")
	if _, err := config.Read[shop](); err == nil ||
		!strings.Contains(err.Error(), "SERVICE_TOKEN and SERVICE_TOKEN_FILE are both set") {
		t.Errorf("both: %v", err)
	}
	t.Setenv("SERVICE_TOKEN", "")
	t.Setenv("SERVICE_TOKEN_FILE", filepath.Join(dir, "nothing"))
	if _, err := config.Read[shop](); err == nil || !strings.Contains(err.Error(), "SERVICE_TOKEN_FILE: open ") {
		t.Errorf("no file: %v", err)
	}
}
