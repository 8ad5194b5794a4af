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

// mysqlInstall is an installed MySQL or MariaDB.
type mysqlInstall struct {
	server  string // mysqld or mariadbd
	install string // mariadb-install-db; empty for MySQL, whose server does it
	version string // as the server prints it, with its flavour
}

func mysqlPrograms() (mysqlInstall, error) {
	server, err := programs.MySQL()
	if err != nil {
		return mysqlInstall{}, err
	}
	version, err := exec.Command(server, "--no-defaults", "--version").Output() //nolint:noctx // prints a line and ends
	if err != nil {
		return mysqlInstall{}, fmt.Errorf("run %s --version: %w", server, err)
	}
	p := mysqlInstall{server: server, version: string(version)}
	if p.mariaDB() {
		p.install, err = programs.MariaDBInstall()
	}
	return p, err
}

func (p mysqlInstall) mariaDB() bool { return strings.Contains(p.version, "MariaDB") }

// serverArgs returns the first arguments of every run of the server. settings selects the option file, and must come
// first.
func (p mysqlInstall) serverArgs(settings string) []string {
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
func (p mysqlInstall) newDataDir(ctx context.Context, dir string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256([]byte(p.server + p.version))
	template := filepath.Join(cache, "orderstock", fmt.Sprintf("mysql-%x", sum[:6]))
	if _, err := os.Stat(template); errors.Is(err, fs.ErrNotExist) {
		if err := p.makeTemplate(ctx, template); err != nil {
			return err
		}
	}
	return os.CopyFS(dir, os.DirFS(template))
}

// makeTemplate makes the template under another name and moves it into place,
// so that no process copies half of it. If several processes make it at once, the
// first result stays.
func (p mysqlInstall) makeTemplate(ctx context.Context, template string) error {
	if err := os.MkdirAll(filepath.Dir(template), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(template), "making-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	data := filepath.Join(work, "data")
	cmd := exec.CommandContext(ctx, p.server, append(p.serverArgs("--no-defaults"),
		"--initialize-insecure", "--datadir="+data)...)
	if p.mariaDB() {
		cmd = exec.CommandContext(ctx, p.install, append(p.serverArgs("--no-defaults"),
			"--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", cmd.Path, err, out)
	}
	if err := os.Rename(data, template); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
