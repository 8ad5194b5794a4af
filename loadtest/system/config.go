package system

import (
	"cmp"
	"crypto/rand"

	"orderstock/migrations"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct"
)

// Config configures Open. The zero value of a field means its default.
type Config struct {
	// Dir is the folder for data and logs, which is created if missing. Default: a new one, which Close removes.
	Dir string
	// Bin is the folder for the services' programs, from the module's root. Default: bin, or if Breakable Dir/bin.
	Bin string
	// Build, if not "", is the folder of another build's binaries, which are used instead of Bin's. Its program migrate
	// makes the tables, with the usual names, and its order services get the addresses of the stock services.
	Build string
	// Breakable builds the services so that they can be broken.
	Breakable bool

	// Servers, if not nil, are the servers to use, which are left running. Bin then holds the programs. Default: Open
	// starts them.
	Servers *Servers
	// Cluster starts several servers of each kind, so that any one may die (Servers.Cluster). It needs MySQL, not MariaDB.
	// A breakable one has no proxies between its parts, and needs Linux, root, and the program ip.
	Cluster bool
	// MySQL are options of the MySQL server, but for its folder.
	MySQL servers.Options

	// OrderServices and StockServices are the numbers of services. Default 2; a negative number means none, and
	// without both there are no schemas, either. They share this machine's processors: each gets an equal share as its
	// GOMAXPROCS, at least 1, unless that is set for this process.
	OrderServices, StockServices int
	// OrderPort and StockPort are the ports of the first service of each kind, if they are free. Default, and otherwise:
	// free ones.
	OrderPort, StockPort int
	// OrderEnv and StockEnv are added to the environment of every service of that kind, and override this package's
	// settings.
	OrderEnv, StockEnv map[string]string
	// Strategy is the stock services' deduction strategy. Default: deduct.Default. One that oversells is allowed.
	Strategy string
	// Route, if not nil, is called before a service starts, with the service's name ("order-1", "stock-2", …) and the real
	// addresses that it would call. The service gets the addresses returned. Default: an order service finds the stock
	// services in ZooKeeper.
	Route func(service string, real Addresses) (Addresses, error)

	// Accounts names databases and users. Default: migrations.DefaultAccounts.
	// Users without a password get a random one.
	Accounts migrations.Accounts
	// Token is the stock services' bearer token. Default: random.
	Token string
	// ZooKeeperRoot is the ZooKeeper root of the services. Default "/orderstock".
	ZooKeeperRoot string

	// Progress, if not nil, gets a short description of each step.
	Progress func(doing string)

	compiled bool // Bin has the programs
}

// Addresses are the addresses given to a service, as host:port.
type Addresses struct {
	MySQL     string
	Redis     string
	ZooKeeper []string
	// Stock are the stock services; nil for a stock service.
	Stock []string
}

func (c Config) withDefaults() Config {
	c.OrderServices = cmp.Or(c.OrderServices, 2)
	c.StockServices = cmp.Or(c.StockServices, 2)
	c.Strategy = cmp.Or(c.Strategy, deduct.Default)
	c.Token = cmp.Or(c.Token, rand.Text())
	c.ZooKeeperRoot = cmp.Or(c.ZooKeeperRoot, "/orderstock")
	if c.Accounts == (migrations.Accounts{}) {
		c.Accounts = migrations.DefaultAccounts()
	}
	for _, u := range []*migrations.User{
		&c.Accounts.OrderApp, &c.Accounts.StockApp, &c.Accounts.Migrator,
		&c.Accounts.Verifier,
	} {
		u.Password = cmp.Or(u.Password, rand.Text())
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c
}

// Assignments returns all variables as NAME=value, in any order.
func Assignments(all ...map[string]string) (list []string) {
	for _, env := range all {
		for name, value := range env {
			list = append(list, name+"="+value)
		}
	}
	return list
}
