package fire

import "golang.org/x/sys/unix"

// raiseOpenFiles raises the limit of open files to the clients' need, if permitted. Otherwise calls fail as
// history.Unsent, and the verdict reports them.
func raiseOpenFiles(cfg Config) {
	need := uint64(2*cfg.Concurrency*max(len(cfg.OrderURLs), len(cfg.StockURLs), 1) + 256)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= need {
		return
	}
	limit.Cur, limit.Max = need, max(limit.Max, need)
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) // above the hard limit, only root may
}
