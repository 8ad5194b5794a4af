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

// StartMySQLGroup starts n MySQL servers with the settings of a group. It needs MySQL 8.4 or later, which MYSQLD may
// name: see ErrNoGroupServer. member(i), if not nil, are the options of server i, counted from 0.
func StartMySQLGroup(ctx context.Context, dir string, n int, member func(i int) Options) (*MySQLGroup, error) {
	program, err := groupServer(ctx)
	if err != nil {
		return nil, fmt.Errorf("start group: %w", err)
	}
	each, addrs := make([]Options, n), make([]string, n)
	for i := range each {
		if member != nil {
			each[i] = member(i)
		}
		if each[i], err = each[i].complete("mysql"); err != nil {
			return nil, fmt.Errorf("start group: %w", err)
		}
		addrs[i] = each[i].Addr
	}
	for i := range each {
		o := &each[i]
		o.Program, o.grouped = program, true
		host, port, _ := net.SplitHostPort(o.Addr)
		o.Args = append([]string{
			"--innodb-buffer-pool-size=256M", fmt.Sprintf("--server-id=%d", i+1),
			"--report-host=" + host, "--report-port=" + port,
			"--loose-group-replication-local-address=" + o.Addr,
			"--loose-group-replication-group-seeds=" + strings.Join(addrs, ","),
		}, o.Args...)
	}
	g := &MySQLGroup{}
	if g.Members, g.Fleet, err = startMembers(ctx, dir, "mysql", StartMySQL, each); err != nil {
		return nil, err
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
