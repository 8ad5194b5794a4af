package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"orderstock/pkg/servers/programs"
)

// PostgreSQL is a PostgreSQL server.
type PostgreSQL struct{ *Server }

// StartPostgreSQL starts a PostgreSQL server with its data in dir, which it gives to the user nobody if this process
// runs as root: the server refuses root.
func StartPostgreSQL(ctx context.Context, dir string, opts ...Option) (*PostgreSQL, error) {
	s, err := startPostgreSQL(ctx, dir, opts...)
	if err != nil {
		return nil, fmt.Errorf("start postgresql: %w", err)
	}
	return &PostgreSQL{s}, nil
}

func startPostgreSQL(ctx context.Context, dir string, opts ...Option) (*Server, error) {
	bin, err := programs.PostgreSQL()
	if err != nil {
		return nil, err
	}
	o, err := newOptions(opts...)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	as, err := asNobody(data)
	if err != nil {
		return nil, err
	}
	init := append(as, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
		"--locale=C")
	cmd := exec.CommandContext(ctx, init[0], init[1:]...)
	cmd.Dir = data
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := append(as, filepath.Join(bin, "postgres"), "-D", data, "-h", host, "-p", port, "-k", "", "-F")
	return Start(ctx, Spec{
		Name: "postgresql", Path: args[0], Args: args[1:], Dir: dir, Addr: o.addr,
		Ready: func(ctx context.Context) error {
			return exec.CommandContext(ctx, filepath.Join(bin, "pg_isready"), "-q", "-h", host, "-p", port).Run()
		},
	})
}

// DSN returns the administrator's address of a database.
func (p *PostgreSQL) DSN(database string) string {
	return "postgres://postgres@" + p.Addr() + "/" + database + "?sslmode=disable"
}

// asNobody returns the words before a command that runs it as a user other than root. It gives the folder to that user,
// and lets everybody pass the folders above it that are in the temporary folder. It returns none, and does nothing, if
// this process does not run as root.
func asNobody(dir string) (words []string, err error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	for above := filepath.Dir(dir); strings.HasPrefix(above, os.TempDir()+"/"); above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o711); err != nil {
			return nil, err
		}
	}
	// setpriv also renews the signal at the parent's death, which a change of the user clears.
	return []string{
		"setpriv", "--reuid=" + nobody.Uid, "--regid=" + nobody.Gid, "--clear-groups", "--pdeathsig=KILL", "--",
	}, nil
}
