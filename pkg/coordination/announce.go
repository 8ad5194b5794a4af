package coordination

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/retry"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// Dir returns the parent node of the announcements of the service, below root.
func Dir(root, service string) string { return root + "/replicas/" + service }

// shortPauses are the ones between tries while ZooKeeper does not answer.
var shortPauses = retry.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}

// secure is put before the announced address of a replica that speaks HTTPS. It has no slash, because the address is
// part of the name of a node.
const secure = "https:"

// Announce announces a replica of the service that listens at addr, for Discover to find. If addr names no host, the
// host is this machine's own address on its connection to ZooKeeper. The announcement proves that the replica knows the
// tokens. It ends when ctx ends or stop is called. Stop waits until it is withdrawn.
func (s *Session) Announce(
	ctx context.Context, service, addr string, https bool, tokens ...string,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		var once sync.Once
		addr, err := retry.Do(ctx, longPauses, func() (string, error) {
			addr, err := reachable(ctx, addr, session.Conn().Server())
			if err != nil && ctx.Err() == nil {
				once.Do(func() { s.cfg.Log.Error("not announced yet: set ADVERTISE_ADDR", "error", err) })
			}
			return addr, err
		})
		if err != nil {
			return // ctx has ended
		}
		if https {
			addr = secure + addr
		}
		announce(ctx, session, Dir(s.cfg.Root, service), addr, tokens, s.cfg.Log, s.announced.Store)
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

// announce keeps an ephemeral node for addr under dir, in every session that s has, until ctx ends. Then it removes the
// node. If somebody else removes the node, announce makes it again. If the process dies, the node ends with the
// session. The node holds a proof by each of the tokens: anyone who reaches ZooKeeper may be able to write there, and
// the proof shows that its writer knows a token, without showing the token.
//
// announce calls announced with true once the node is made, and with false when it finds the node missing; a ZooKeeper
// that is away changes nothing.
func announce(
	ctx context.Context, s *zklock.Session, dir, addr string, tokens []string, log *slog.Logger, announced func(bool),
) {
	for ctx.Err() == nil {
		var lost <-chan struct{}
		node, err := retry.Do(ctx, shortPauses, func() (string, error) {
			lost = s.Lost() // read before the node is made, so that it cannot be a later session's
			select {
			case <-lost: // a node made now may be removed, and its proof would be of no session
				return "", errors.New("no ZooKeeper session")
			default:
			}
			// A session that was lost by the local clock alone still has its node, as has one that did not get the
			// answer to a create.
			switch nodes, err := own(ctx, s, dir, addr); {
			case err != nil:
				return "", err
			case len(nodes) > 0:
				return nodes[0], nil
			}
			return create(ctx, s, dir, addr, tokens)
		})
		if err != nil {
			break // ctx has ended
		}
		log.Info("announced", "node", node)
		announced(true)
		switch {
		case !present(ctx, s, node, lost):
			announced(false)
			log.Warn("announcement was removed; announcing again", "node", node)
		case ctx.Err() == nil: // the session is lost
			pause(ctx)
		}
	}
	if err := withdraw(context.WithoutCancel(ctx), s, dir, addr); err != nil {
		log.Warn("announcement not withdrawn; it ends with its session", "error", err)
	}
}

// own returns the nodes that the session has made for addr.
func own(ctx context.Context, s *zklock.Session, dir, addr string) ([]string, error) {
	return zkclient.Call(ctx, func() (nodes []string, err error) {
		if _, err := s.Conn().Sync(dir); err != nil { // the session may have moved to a server that lags
			return nil, err
		}
		names, _, err := s.Conn().Children(dir)
		for _, name := range names {
			if !strings.HasPrefix(name, addr+"_") {
				continue
			}
			there, stat, err := s.Conn().Exists(dir + "/" + name)
			if err != nil {
				return nil, err
			}
			if there && stat.EphemeralOwner == s.ID() {
				nodes = append(nodes, dir+"/"+name)
			}
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		return nodes, err
	})
}

// withdraw removes the nodes that the session has made for addr.
func withdraw(ctx context.Context, s *zklock.Session, dir, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	nodes, err := own(ctx, s, dir, addr)
	for _, node := range nodes {
		_, deleted := zkclient.Call(ctx, func() (struct{}, error) { return struct{}{}, s.Conn().Delete(node, -1) })
		if !errors.Is(deleted, zk.ErrNoNode) {
			err = errors.Join(err, deleted)
		}
	}
	return err
}

// present waits until the node is removed, and returns false then. If lost is closed or ctx ends first, it
// returns true.
func present(ctx context.Context, s *zklock.Session, node string, lost <-chan struct{}) bool {
	type look struct {
		there  bool
		events <-chan zk.Event
	}
	for {
		now, err := zkclient.Call(ctx, func() (l look, err error) {
			l.there, _, l.events, err = s.Conn().ExistsW(node)
			return l, err
		})
		if err == nil && !now.there {
			return false
		}
		if err != nil {
			pause(ctx)
			closed := make(chan zk.Event)
			close(closed)
			now.events = closed // look again
		}
		select {
		case <-lost:
			return true
		case <-ctx.Done():
			return true
		case event := <-now.events:
			if event.Err != nil {
				pause(ctx)
			}
		}
	}
}

// create makes the node. Its name is the address and a number, so that the node of an
// earlier process at the address, whose session is not over yet, is not in the way.
func create(ctx context.Context, s *zklock.Session, dir, addr string, tokens []string) (string, error) {
	made := func() (string, error) {
		data := proofs(tokens, dir, addr, s.ID())
		return zkclient.Call(ctx, func() (string, error) {
			return s.Conn().Create(dir+"/"+addr+"_", data, zk.FlagEphemeral|zk.FlagSequence, s.ACL())
		})
	}
	node, err := made()
	if errors.Is(err, zk.ErrNoNode) {
		if err := makeDir(ctx, s, dir); err != nil {
			return "", err
		}
		node, err = made()
	}
	return node, err
}

func makeDir(ctx context.Context, s *zklock.Session, dir string) error {
	return zkclient.MakePath(dir, func(path string) error {
		_, err := zkclient.Call(ctx, func() (string, error) { return s.Conn().Create(path, nil, 0, s.ACL()) })
		return err
	})
}

func pause(ctx context.Context) {
	select {
	case <-time.After(shortPauses.First):
	case <-ctx.Done():
	}
}

// reachable returns the host:port where others reach a listener at addr. If addr names
// no host, it takes the local address of a connection to peer, a host:port.
func reachable(ctx context.Context, addr, peer string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("find own address: %w", err)
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return addr, nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", peer) // sends nothing
	if err != nil {
		return "", fmt.Errorf("find own address: %w", err)
	}
	defer func() { _ = conn.Close() }()
	host, _, err = net.SplitHostPort(conn.LocalAddr().String())
	return net.JoinHostPort(host, port), err
}

// proofs returns the data of a node: for each token a line that nobody can write without it. A line holds for one
// address under one directory, and for one session: ZooKeeper says in which session a node was made, so that a copy
// in a stranger's node proves nothing, not even after the replica has gone.
func proofs(tokens []string, dir, addr string, session int64) []byte {
	var lines [][]byte
	for _, token := range tokens {
		if token != "" {
			lines = append(lines, proof(token, dir, addr, session))
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// proof returns the HMAC-SHA256, in hexadecimal, of an announcement under the token.
func proof(token, dir, addr string, session int64) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "orderstock announcement\n%s\n%s\n%d", dir, addr, session)
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// proved reports whether one of the lines of the data is the proof by the token.
func proved(data []byte, token, dir, addr string, session int64) bool {
	want, found := proof(token, dir, addr, session), false
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		found = hmac.Equal(line, want) || found
	}
	return found
}
