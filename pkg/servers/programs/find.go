// Package programs finds the programs that servers and tests need, installs missing ones on Debian, and compiles those
// of this module. It imports only the standard library: it is there before anything else is compiled.
package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is a program that must be installed.
type Program struct {
	// Names are the names of its file, of which one is enough.
	Names []string
	// Packages are the Debian packages that hold it.
	Packages []string
}

// The programs of servers and tests. ZooKeeper and PostgreSQL, which are several files, have functions.
var (
	MySQL = Program{[]string{"mysqld", "mariadbd"}, []string{"default-mysql-server"}}
	// MariaDBInstall makes MariaDB's first data.
	MariaDBInstall = Program{[]string{"mariadb-install-db", "mysql_install_db"}, MySQL.Packages}
	Redis          = Program{[]string{"redis-server"}, []string{"redis-server"}}
	GCC            = Program{[]string{"gcc"}, []string{"gcc", "libc6-dev"}}
	Chromium       = Program{[]string{"chromium", "chromium-headless-shell", "google-chrome"}, []string{"chromium"}}
	Prometheus     = Program{[]string{"prometheus"}, []string{"prometheus"}}
	Promtool       = Program{[]string{"promtool"}, Prometheus.Packages}
	SQLite         = Program{[]string{"sqlite3"}, []string{"sqlite3"}}

	java       = Program{[]string{"java"}, []string{"zookeeper", "default-jre-headless"}} // one install is enough
	javac      = Program{[]string{"javac"}, []string{"default-jdk-headless"}}
	maker      = Program{[]string{"make"}, []string{"make"}}
	postgreSQL = Program{[]string{"initdb"}, []string{"postgresql"}}
)

// ZooKeeper returns Java and the class path of ZooKeeper: the Debian
// package's jars, or the jars of the distribution that ZOOKEEPER_HOME names.
func ZooKeeper() (path, classpath string, err error) {
	if path, err = java.Find(); err != nil {
		return "", "", err
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return path, filepath.Join(home, "lib", "*"), nil
	}
	const dir = "/usr/share/java"
	jar := filepath.Join(dir, "zookeeper.jar") // names the jars that it needs itself
	if _, err := os.Stat(jar); err != nil {
		return "", "", &MissingError{Program: "ZooKeeper (" + jar + " or $ZOOKEEPER_HOME)", Packages: java.Packages}
	}
	return path, jar + string(filepath.ListSeparator) + filepath.Join(dir, "slf4j-simple.jar"), nil
}

// PostgreSQL returns the folder of PostgreSQL's programs. Debian keeps them apart for each version.
func PostgreSQL() (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := postgreSQL.Find()
	return filepath.Dir(path), err
}

// Find returns the path of the program, or a *MissingError. Debian keeps servers in /usr/sbin, which is not on every
// user's PATH.
func (p Program) Find() (string, error) {
	for _, name := range p.Names {
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
	return "", &MissingError{Program: strings.Join(p.Names, " or "), Packages: p.Packages}
}
