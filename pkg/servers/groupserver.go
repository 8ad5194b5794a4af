package servers

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"orderstock/pkg/servers/programs"
)

// EnvMySQLD names the mysqld program of a group's members.
const EnvMySQLD = "MYSQLD"

// MySQLImage is the image that the server of a group's members comes from if none is installed.
const MySQLImage = "mysql:9.7"

// ErrNoGroupServer is returned if no server is found that can be a group's member.
var ErrNoGroupServer = errors.New("no MySQL server of version 8.4 or later, which a group needs" +
	" (Debian's own packages hold MariaDB, which cannot do it): install MySQL Community Server and set " + EnvMySQLD +
	" to its mysqld; or, on a machine with Docker, run: docker pull " + MySQLImage)

var versionOf = regexp.MustCompile(`Ver (\d+)\.(\d+)`)

// groupServer returns a server that can be a group's member: the one named by MYSQLD, the installed one, or the Docker
// image's, which it unpacks once.
func groupServer(ctx context.Context) (*MySQLProgram, error) {
	if os.Getenv(EnvMySQLD) == "" {
		if path, err := (programs.Program{Names: []string{"mysqld"}}).Find(); err == nil {
			if program, err := groupServerAt(path); err == nil {
				return program, nil
			}
		}
	}
	return FromImage(ctx)
}

// FromImage returns the MySQL server that MYSQLD names or, without it, the one of MySQLImage, which it unpacks once. It
// returns ErrNoGroupServer without both.
func FromImage(ctx context.Context) (*MySQLProgram, error) {
	if path := os.Getenv(EnvMySQLD); path != "" {
		program, err := groupServerAt(path)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", EnvMySQLD, path, err)
		}
		return program, nil
	}
	path, err := unpackedServer(ctx)
	if err != nil {
		return nil, err
	}
	return groupServerAt(path)
}

// groupServerAt returns the server at path if it is a MySQL that is new enough.
func groupServerAt(path string) (*MySQLProgram, error) {
	program, err := mysqlAt(path)
	if err != nil {
		return nil, err
	}
	found := versionOf.FindStringSubmatch(program.version)
	if found == nil || program.mariaDB() {
		return nil, fmt.Errorf("%s is no MySQL server: %w", strings.TrimSpace(program.version), ErrNoGroupServer)
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	if major < 8 || major == 8 && minor < 4 {
		return nil, fmt.Errorf("%s is too old: %w", strings.TrimSpace(program.version), ErrNoGroupServer)
	}
	return program, nil
}

//go:embed unpackserver.sh
var unpackScript []byte

// unpackedServer unpacks the server from the Docker image, with its libraries, and returns the program that runs it.
func unpackedServer(ctx context.Context) (string, error) {
	id, err := exec.CommandContext(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", MySQLImage).Output()
	if err != nil {
		return "", ErrNoGroupServer
	}
	name := strings.TrimPrefix(strings.TrimSpace(string(id)), "sha256:")
	dir, err := cached("mysqld-"+name[:min(12, len(name))], func(work, dir string) error {
		cmd := exec.CommandContext(ctx, "bash", "-s", MySQLImage, work, dir)
		cmd.Stdin = bytes.NewReader(unpackScript)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", MySQLImage, err)
	}
	return filepath.Join(dir, "mysqld"), nil
}
