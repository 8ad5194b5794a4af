// Package programs finds the programs that servers and tests need, installs missing ones on Debian, and compiles those
// of this module. It imports only the standard library: it is there before anything else is compiled.
package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MySQL returns the path of the server of MySQL or MariaDB.
func MySQL() (string, error) { return find(debian.mysql, "mysqld", "mariadbd") }

// MariaDBInstall returns the path of the program that makes MariaDB's first data.
func MariaDBInstall() (string, error) {
	return find(debian.mysql, "mariadb-install-db", "mysql_install_db")
}

// Redis returns the path of the server of Redis.
func Redis() (string, error) { return find(debian.redis, "redis-server") }

// ZooKeeper returns Java and the class path of ZooKeeper: the Debian
// package's jars, or the jars of the distribution that ZOOKEEPER_HOME names.
func ZooKeeper() (java, classpath string, err error) {
	if java, err = find(debian.zookeeper, "java"); err != nil {
		return "", "", err
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return java, filepath.Join(home, "lib", "*"), nil
	}
	const dir = "/usr/share/java"
	jar := filepath.Join(dir, "zookeeper.jar") // names the jars that it needs itself
	if _, err := os.Stat(jar); err != nil {
		return "", "", &MissingError{Program: "ZooKeeper (" + jar + " or $ZOOKEEPER_HOME)", Packages: debian.zookeeper}
	}
	return java, jar + string(filepath.ListSeparator) + filepath.Join(dir, "slf4j-simple.jar"), nil
}

// javac returns the path of the Java compiler.
func javac() (string, error) { return find(debian.javac, "javac") }

// GCC returns the path of the C compiler.
func GCC() (string, error) { return find(debian.gcc, "gcc") }

// Chromium returns the path of a Chromium.
func Chromium() (string, error) {
	return find(debian.chromium, "chromium", "chromium-headless-shell", "google-chrome")
}

// Prometheus returns the path of Prometheus. The package holds promtool as well.
func Prometheus() (string, error) { return find(debian.prometheus, "prometheus") }

// PostgreSQL returns the folder of PostgreSQL's programs. Debian keeps them apart for each version.
func PostgreSQL() (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := find(debian.postgresql, "initdb")
	return filepath.Dir(path), err
}

// SQLite returns the path of the shell of SQLite.
func SQLite() (string, error) { return find(debian.sqlite, "sqlite3") }

// Find returns the path of the first of names that is installed.
func Find(names ...string) (string, error) { return find(nil, names...) }

// find returns the path of the first of names that is installed. Debian
// keeps servers in /usr/sbin, which is not on every user's PATH.
func find(packages []string, names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", &MissingError{Program: strings.Join(names, " or "), Packages: packages}
}
