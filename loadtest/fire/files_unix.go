//go:build unix

package fire

import "golang.org/x/sys/unix"

// raiseOpenFiles raises the limit of open files, if it may, to what the clients need. If it may not, calls fail as
// history.Unsent, and the verdict says so.
func raiseOpenFiles(cfg Config) {
	need := uint64(2*cfg.Concurrency*max(len(cfg.OrderURLs), len(cfg.StockURLs), 1) + 256)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= need {
		return
	}
	limit.Cur, limit.Max = need, max(limit.Max, need)
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) // refused to all but root if it is above the hard limit
}
