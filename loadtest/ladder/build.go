package ladder

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"orderstock/loadtest/system"
	"orderstock/migrations"
	"orderstock/pkg/servers"
)

// build is the programs of another build, on a MySQL server like the others': it may have other tables, and its program
// for them knows the usual names alone.
type build struct {
	bin   string
	mysql *servers.MySQL
}

// startBuild starts the server of the build in the folder bin; nil if that is "".
func (cfg Config) startBuild(ctx context.Context, bin, name string) (*build, error) {
	if bin == "" {
		return nil, nil //nolint:nilnil // documented
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, fmt.Errorf("start the server of a build: %w", err)
	}
	cfg.say("starting a MySQL server for the tables of %s", bin)
	o := cfg.mysql
	o.Dir = filepath.Join(cfg.Dir, "mysql-"+name)
	mysql, err := servers.StartMySQL(ctx, o)
	if err != nil {
		return nil, err
	}
	return &build{bin, mysql}, nil
}

func (b *build) stop() error {
	if b == nil {
		return nil
	}
	return b.mysql.Kill() // its data are of no use
}

// configure makes the stack one of the build.
func (b *build) configure(sc *system.Config) {
	on := *sc.Servers
	on.MySQL = b.mysql
	sc.Bin, sc.Servers, sc.Accounts, sc.Migrate = b.bin, &on, migrations.DefaultAccounts(), b.migrate
	// It may not look for stock services in ZooKeeper.
	sc.Route = func(_ string, real system.Addresses) (system.Addresses, error) { return real, nil }
}

// migrate makes the tables with the build's own program.
func (b *build) migrate(ctx context.Context, cfg migrations.Config) error {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "migrate"), "up")
	a := cfg.Accounts
	cmd.Env = servers.Environment([]string{
		"MYSQL_ADMIN_DSN=" + cfg.AdminDSN, "ORDER_DB_PASSWORD=" + a.OrderApp.Password,
		"STOCK_DB_PASSWORD=" + a.StockApp.Password, "MIGRATE_DB_PASSWORD=" + a.Migrator.Password,
		"VERIFY_DB_PASSWORD=" + a.Verifier.Password,
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the tables of the build in %s: %w: %s", b.bin, err, out)
	}
	return nil
}
