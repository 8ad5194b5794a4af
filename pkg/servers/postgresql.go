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

// StartPostgreSQL starts a PostgreSQL server. If this process runs as root, its data belong to the user nobody: the
// server refuses root.
func StartPostgreSQL(ctx context.Context, o Options) (*PostgreSQL, error) {
	s, err := o.start(ctx, "postgresql", Options.postgreSQL)
	return &PostgreSQL{s}, err
}

// postgreSQL makes the server's files, and returns how to run it.
func (o Options) postgreSQL(ctx context.Context) (s Spec, err error) {
	bin, err := programs.PostgreSQL()
	if err != nil {
		return s, err
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return s, err
	}
	data := filepath.Join(o.Dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return s, err
	}
	as, err := asNobody(data)
	if err != nil {
		return s, err
	}
	init := append(as, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
		"--locale=C")
	cmd := exec.CommandContext(ctx, init[0], init[1:]...)
	cmd.Dir = data
	if out, err := cmd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := append(as, filepath.Join(bin, "postgres"), "-D", data, "-h", host, "-p", port, "-k", "", "-F")
	return Spec{
		Path: args[0], Args: args[1:],
		Ready: func(ctx context.Context) error {
			return exec.CommandContext(ctx, filepath.Join(bin, "pg_isready"), "-q", "-h", host, "-p", port).Run()
		},
	}, nil
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
