package coordination

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/retry"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// Terms say which announcements a watcher follows.
type Terms struct {
	// Token must be among the tokens of the replica that announces itself. Empty: no proof is needed.
	Token string
	// HTTPS leaves out replicas that do not speak HTTPS.
	HTTPS bool
	// Ignored, if not nil, is called once for each node that is not followed, with the reason.
	Ignored func(node string, why error)
}

// The reasons not to follow an announcement.
var (
	ErrUnproved = errors.New("nothing proves that a replica with the service token wrote it")
	ErrPlain    = errors.New("plain HTTP where HTTPS is expected")
)

// Watch calls changed with the addresses that are announced under dir on these terms, sorted, and again whenever they
// change, until ctx ends. While ZooKeeper is away it reports no change. It never reports an empty set: a caller could
// do nothing with it, and after a restart of ZooKeeper the replicas announce themselves again.
func Watch(ctx context.Context, s *zklock.Session, dir string, terms Terms, changed func(addrs []string)) {
	type listing struct {
		names  []string
		addrs  []string
		why    map[string]error // of the names that are not followed
		events <-chan zk.Event
	}
	var last []string
	ignored := map[string]error{}
	for ctx.Err() == nil {
		now, err := retry.Do(ctx, shortPauses, func() (listing, error) {
			l, err := zkclient.Call(ctx, func() (l listing, err error) {
				l.names, _, l.events, err = s.Conn().ChildrenW(dir)
				return l, err
			})
			if errors.Is(err, zk.ErrNoNode) {
				err = errors.Join(err, makeDir(ctx, s, dir))
			}
			if err == nil {
				l.addrs, l.why, err = terms.read(ctx, s, dir, l.names)
			}
			return l, err
		})
		if err != nil {
			return // ctx has ended
		}
		for name, why := range now.why {
			if ignored[name] == nil && terms.Ignored != nil {
				terms.Ignored(dir+"/"+name, why)
			}
		}
		ignored = now.why
		if len(now.addrs) > 0 && !slices.Equal(now.addrs, last) {
			last = now.addrs
			changed(now.addrs)
		}
		select {
		case event := <-now.events:
			if event.Err != nil {
				pause(ctx)
			}
		case <-ctx.Done():
		}
	}
}

// read returns the addresses in the names of the nodes that meet the terms, sorted, each once, and why the others do
// not. A node that has gone is neither.
func (t Terms) read(
	ctx context.Context, s *zklock.Session, dir string, names []string,
) (addrs []string, why map[string]error, err error) {
	type node struct {
		data  []byte
		owner int64
	}
	why = map[string]error{}
	for _, name := range names {
		i := strings.LastIndexByte(name, '_')
		if i <= 0 {
			continue
		}
		n, err := zkclient.Call(ctx, func() (node, error) {
			data, stat, err := s.Conn().Get(dir + "/" + name)
			if err != nil {
				return node{}, err
			}
			return node{data, stat.EphemeralOwner}, nil
		})
		switch addr := name[:i]; {
		case errors.Is(err, zk.ErrNoNode):
		case errors.Is(err, zk.ErrNoAuth): // a stranger's, who closed it
			why[name] = ErrUnproved
		case err != nil:
			return nil, nil, err
		case t.Token != "" && !proved(n.data, t.Token, dir, addr, n.owner):
			why[name] = ErrUnproved
		case t.HTTPS && !strings.HasPrefix(addr, secure):
			why[name] = ErrPlain
		default:
			addrs = append(addrs, addr)
		}
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), why, nil
}

// Announce announces a replica of the service that listens at addr, for Discover to find. If addr names no host, the
// announced one is the address from which this machine reaches the session's server. The announcement proves that the
// replica knows the tokens. It ends when ctx ends or stop is called. Stop waits until it is withdrawn.
func (s *Session) Announce(
	ctx context.Context, service, addr string, https bool, tokens ...string,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		var once sync.Once
		reachable, err := retry.Do(ctx, longPauses, func() (string, error) {
			reachable, err := Reachable(ctx, addr, session.Conn().Server())
			if err != nil && ctx.Err() == nil {
				once.Do(func() { s.cfg.Log.Error("not announced yet: set ADVERTISE_ADDR", "error", err) })
			}
			return reachable, err
		})
		if err != nil {
			return // ctx has ended
		}
		if https {
			reachable = HTTPS(reachable)
		}
		Announce(ctx, session, Dir(s.cfg.Root, service), reachable, tokens, s.cfg.Log,
			s.announced.Store)
	})
}

// Announced returns nil once a replica is announced, also while ZooKeeper is away afterwards. It returns an error
// before, and while the announcement is found to be missing.
func (s *Session) Announced(context.Context) error {
	if !s.announced.Load() {
		return errors.New("not announced in zookeeper: order services that start now do not find this replica")
	}
	return nil
}

// Discover calls changed with the base addresses of the service's replicas that are announced on these terms, and
// again whenever they change, until ctx ends or stop is called, which waits for the last call. Announcements that it
// ignores are logged and counted; terms.Ignored is not used.
func (s *Session) Discover(
	ctx context.Context, service string, terms Terms, changed func(urls []string),
) (stop func()) {
	ignored := promauto.With(s.cfg.Metrics).NewCounter(prometheus.CounterOpts{
		Name: "zookeeper_announcements_ignored_total", ConstLabels: prometheus.Labels{"service": service},
		Help: "Announcements of replicas that were not followed: unproved, or of plain HTTP where HTTPS is expected.",
	})
	terms.Ignored = func(node string, why error) {
		ignored.Inc()
		s.cfg.Log.Warn("announcement ignored", "node", node, "error", why.Error())
	}
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		Watch(ctx, session, Dir(s.cfg.Root, service), terms, func(addrs []string) {
			urls := make([]string, len(addrs))
			for i, addr := range addrs {
				urls[i] = URL(addr)
			}
			changed(urls)
		})
	})
}
