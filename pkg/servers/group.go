package servers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
)

//go:embed group.cnf
var groupSettings []byte

// MySQLGroup is several MySQL servers that can form a group. StartMySQLGroup does not
// form it: see package mysqlgroup.
type MySQLGroup struct {
	Fleet
	Members []*MySQL
	admin   *mysql.Config
}

// StartMySQLGroup starts n MySQL servers with the settings of a group, each with its
// data in a folder of dir. It needs MySQL 8.4 or later, which MYSQLD may name: see
// ErrNoGroupServer. opts(i) are the options of server i, counted from 0.
func StartMySQLGroup(ctx context.Context, dir string, n int, opts func(i int) []Option) (*MySQLGroup, error) {
	install, err := groupServer(ctx)
	if err != nil {
		return nil, fmt.Errorf("start group: %w", err)
	}
	var (
		addrs  []string
		starts []func() (*MySQL, error)
	)
	for i := range n {
		all := []Option{WithArgs("--innodb-buffer-pool-size=256M")}
		if opts != nil {
			all = append(all, opts(i)...)
		}
		o, err := newOptions(all...)
		if err != nil {
			return nil, fmt.Errorf("start group: %w", err)
		}
		addrs = append(addrs, o.addr)
		starts = append(starts, func() (*MySQL, error) {
			o.name, o.install, o.grouped = fmt.Sprintf("mysql-%d", i+1), &install, true
			host, port, _ := net.SplitHostPort(o.addr)
			o.args = append([]string{
				fmt.Sprintf("--server-id=%d", i+1), "--report-host=" + host, "--report-port=" + port,
				"--loose-group-replication-local-address=" + o.addr,
				"--loose-group-replication-group-seeds=" + strings.Join(addrs, ","),
			}, o.args...)
			return startMySQL(ctx, filepath.Join(dir, o.name), o)
		})
	}
	members, err := StartAll(starts...)
	if err != nil {
		return nil, err
	}
	g := &MySQLGroup{Members: members}
	for _, m := range members {
		g.Fleet = append(g.Fleet, m.Server)
	}
	g.admin = g.Members[0].admin.Clone()
	g.admin.Net, g.admin.Addr = mysqldb.GroupNet, g.Addr()
	return g, nil
}

// MySQL returns the group as one server, whose DSNs name all members. Statements go to
// the primary. The methods that start or stop the server return ErrAttached.
func (g *MySQLGroup) MySQL() *MySQL {
	return &MySQL{Server: attach("mysql", g.admin.Addr), admin: g.admin}
}

// Member returns the member at addr, nil if there is none.
func (g *MySQLGroup) Member(addr string) *MySQL {
	i := slices.IndexFunc(g.Members, func(m *MySQL) bool { return m.Addr() == addr })
	if i < 0 {
		return nil
	}
	return g.Members[i]
}

// freshIdentity removes the server id that a copied data folder has from its template.
func freshIdentity(data string) error {
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
