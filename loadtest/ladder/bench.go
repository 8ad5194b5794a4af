package ladder

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Bench is where and when something was measured.
type Bench struct {
	// Server is the database server's name and version, with the settings that make its commits durable.
	Server string `json:"server"`
	// Machine describes the processor.
	Machine string `json:"machine"`
	Date    string `json:"date"`
}

// bench describes this machine and the configured servers.
func (cfg Config) bench(ctx context.Context) (Bench, error) {
	b := Bench{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly)}
	var version, syncBinlog, flush string
	var logBin bool
	err := cfg.Servers.MySQL.QueryRow(ctx, "SELECT VERSION(), @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit",
		&version, &logBin, &syncBinlog, &flush)
	if err != nil {
		return b, err
	}
	name := "MySQL"
	if strings.Contains(version, "MariaDB") {
		name = "MariaDB"
	}
	b.Server = fmt.Sprintf("%s %s (log_bin=%t sync_binlog=%s innodb_flush_log_at_trx_commit=%s)", name, version, logBin,
		syncBinlog, flush)
	return b, nil
}

// machine describes the processor briefly.
func machine() string {
	text := fmt.Sprintf("%d cores", runtime.NumCPU())
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return text // not on Linux
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return text + " " + strings.TrimSpace(value)
		}
	}
	return text
}
