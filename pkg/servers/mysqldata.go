package servers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"orderstock/pkg/servers/programs"
)

// MySQLProgram is an installed server of MySQL or MariaDB.
type MySQLProgram struct {
	server  string // mysqld or mariadbd
	install string // mariadb-install-db; empty for MySQL, whose server does it
	version string // as the server prints it, with its flavour
}

func installedMySQL() (*MySQLProgram, error) {
	server, err := programs.MySQL.Find()
	if err != nil {
		return nil, err
	}
	p, err := mysqlAt(server)
	if err == nil && p.mariaDB() {
		p.install, err = programs.MariaDBInstall.Find()
	}
	return p, err
}

// mysqlAt returns the server at path with its version.
func mysqlAt(path string) (*MySQLProgram, error) {
	version, err := exec.Command(path, "--no-defaults", "--version").Output() //nolint:noctx // prints a line and ends
	if err != nil {
		return nil, fmt.Errorf("run %s --version: %w", path, err)
	}
	return &MySQLProgram{server: path, version: string(version)}, nil
}

func (p *MySQLProgram) mariaDB() bool { return strings.Contains(p.version, "MariaDB") }

// serverArgs returns the first arguments of every run of the server. settings selects the option file, and must come
// first.
func (p *MySQLProgram) serverArgs(settings string) []string {
	args := []string{settings}
	if me, err := user.Current(); err == nil {
		args = append(args, "--user="+me.Username) // without it the server refuses to run as root
	}
	if !p.mariaDB() {
		args = append(args, "--mysqlx=OFF", "--secure-file-priv=NULL")
	}
	return args
}

// newDataDir makes dir an empty server's data folder. Making one takes
// seconds, so it is made once for each version of the server, kept in the
// user's cache folder, and copied.
func (p *MySQLProgram) newDataDir(ctx context.Context, dir string) error {
	sum := sha256.Sum256([]byte(p.server + p.version))
	template, err := cached(fmt.Sprintf("mysql-%x", sum[:6]), func(data, _ string) error {
		cmd := exec.CommandContext(ctx, p.server, append(p.serverArgs("--no-defaults"),
			"--initialize-insecure", "--datadir="+data)...)
		if p.mariaDB() {
			cmd = exec.CommandContext(ctx, p.install, append(p.serverArgs("--no-defaults"),
				"--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")...)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run %s: %w\n%s", cmd.Path, err, out)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.CopyFS(dir, os.DirFS(template))
}

// cached returns the folder of that name in the user's cache folder. If it is missing, fill fills the folder work,
// which is then moved to dir, so that no process uses half of it. If several processes do that at once, the first
// result stays.
func cached(name string, fill func(work, dir string) error) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir = filepath.Join(cache, "orderstock", name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := fill(work, dir); err != nil {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}
