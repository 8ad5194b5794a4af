package coordination

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/retry"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// Terms say which announcements Discover follows.
type Terms struct {
	// Token must be among the tokens of the replica that announces itself. Empty: no proof is needed.
	Token string
	// HTTPS leaves out replicas that do not speak HTTPS.
	HTTPS bool
}

// The reasons not to follow an announcement.
var (
	errUnproved = errors.New("nothing proves that a replica with the service token wrote it")
	errPlain    = errors.New("plain HTTP where HTTPS is expected")
)

// Discover calls changed with the base addresses of the service's replicas that are announced on these terms, sorted,
// and again whenever they change, until ctx ends or stop is called, which waits for the last call. While ZooKeeper is
// away it reports no change. It never reports an empty set: a caller could do nothing with it, and after a restart of
// ZooKeeper the replicas announce themselves again. Announcements that it does not follow are logged and counted.
func (s *Session) Discover(
	ctx context.Context, service string, terms Terms, changed func(urls []string),
) (stop func()) {
	count := promauto.With(s.cfg.Metrics).NewCounter(prometheus.CounterOpts{
		Name: "zookeeper_announcements_ignored_total", ConstLabels: prometheus.Labels{"service": service},
		Help: "Announcements of replicas that were not followed: unproved, or of plain HTTP where HTTPS is expected.",
	})
	ignored := func(node string, why error) {
		count.Inc()
		s.cfg.Log.Warn("announcement ignored", "node", node, "error", why.Error())
	}
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		watch(ctx, session, Dir(s.cfg.Root, service), terms, ignored, changed)
	})
}

// watch is Discover for the nodes under dir, until ctx ends. It calls ignored once for each node that is not followed.
func watch(
	ctx context.Context, s *zklock.Session, dir string, terms Terms, ignored func(node string, why error),
	changed func(urls []string),
) {
	type listing struct {
		names  []string
		urls   []string
		why    map[string]error // of the names that are not followed
		events <-chan zk.Event
	}
	var last []string
	var known map[string]error // the nodes ignored before
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
				l.urls, l.why, err = terms.read(ctx, s, dir, l.names)
			}
			return l, err
		})
		if err != nil {
			return // ctx has ended
		}
		for name, why := range now.why {
			if known[name] == nil {
				ignored(dir+"/"+name, why)
			}
		}
		known = now.why
		if len(now.urls) > 0 && !slices.Equal(now.urls, last) {
			last = now.urls
			changed(now.urls)
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

// read returns the base addresses of the replicas whose nodes meet the terms, sorted, each once, and why the others do
// not. A node that has gone is neither.
func (t Terms) read(
	ctx context.Context, s *zklock.Session, dir string, names []string,
) (urls []string, why map[string]error, err error) {
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
		addr := name[:i]
		host, https := strings.CutPrefix(addr, secure)
		switch {
		case errors.Is(err, zk.ErrNoNode):
		case errors.Is(err, zk.ErrNoAuth): // a stranger's, who closed it
			why[name] = errUnproved
		case err != nil:
			return nil, nil, err
		case t.Token != "" && !proved(n.data, t.Token, dir, addr, n.owner):
			why[name] = errUnproved
		case https:
			urls = append(urls, "https://"+host)
		case t.HTTPS:
			why[name] = errPlain
		default:
			urls = append(urls, "http://"+host)
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls), why, nil
}
