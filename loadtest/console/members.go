package console

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"orderstock/loadtest/system"
)

// member is a replica of a service.
type member struct {
	name, kind, url, ops string
	replica              *system.Service // nil if attached
}

// replicas returns the lab's replicas, or one for each address that the watched
// names have at present. A name that cannot be resolved counts as one replica, which does not answer.
func (s *view) replicas(ctx context.Context) []member {
	if s.members != nil {
		return s.members
	}
	var all []member
	n := map[string]int{}
	for _, w := range s.Watched {
		for _, address := range addresses(ctx, w.URL) {
			n[w.Kind]++
			all = append(all, member{
				name: fmt.Sprintf("%s-%d", w.Kind, n[w.Kind]), kind: w.Kind,
				url: withHost(w.URL, address), ops: withHost(w.Ops, address),
			})
		}
	}
	return all
}

// addresses returns the IP addresses of a URL's host in order, or its host name if it has none.
func addresses(ctx context.Context, base string) []string {
	u, err := url.Parse(base)
	if err != nil {
		return []string{""}
	}
	found, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil || len(found) < 2 {
		return []string{u.Hostname()}
	}
	slices.Sort(found)
	return found
}

// withHost returns a URL with another host, and the same port.
func withHost(base, host string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base
	}
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	u.Host = host
	return u.String()
}

// probe keeps no connection, so that a dead replica is not mistaken for a live one.
var probe = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// state returns the state of a replica.
func (m member) state(ctx context.Context) Member {
	shown := Member{Name: m.name, Kind: m.kind, State: stateReady}
	if m.replica != nil {
		if state := stateOf(m.replica); state != "" {
			shown.State = state
			return shown
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/readyz", nil)
	if err != nil {
		shown.State, shown.Says = stateNotReady, err.Error()
		return shown
	}
	resp, err := probe.Do(req)
	switch {
	case err != nil && m.replica == nil:
		shown.State, shown.Says = stateDead, "does not answer"
	case err != nil:
		shown.State, shown.Says = stateNotReady, "does not answer"
	default:
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			shown.State, shown.Says = stateNotReady, resp.Status
		}
	}
	return shown
}

// stateOf returns the state of a process that is dead, paused or starting, or "".
func stateOf(p system.Process) string {
	switch {
	case !p.Running():
		return stateDead
	case p.Paused():
		return statePaused
	case p.Starting():
		return stateStarting
	}
	return ""
}

func (c *Console) readMembers(ctx context.Context, s *view) error {
	members := s.replicas(ctx)
	replicas := make([]Member, len(members))
	var asked sync.WaitGroup
	for i, m := range members {
		asked.Go(func() { replicas[i] = m.state(ctx) })
	}
	servers := c.servers(ctx, s)
	asked.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view == s { // else others are starting
		c.feed.set("replicas", replicas)
	}
	c.feed.set("servers", servers)
	return nil
}

func (c *Console) servers(ctx context.Context, s *view) []Member {
	mysql := Member{Name: "mysql", State: stateReady}
	if err := s.orders.PingContext(ctx); err != nil {
		mysql.State, mysql.Says = stateNotReady, "does not answer"
	}
	all := []Member{mysql, answering(ctx, "redis", s.Redis.Addrs), answering(ctx, "zookeeper", s.ZooKeeperAddrs)}
	if c.lab != nil {
		for i, p := range c.lab.ServerProcesses() {
			if state := stateOf(p); state != "" {
				all[i].State, all[i].Says = state, ""
			}
		}
	}
	return all
}

// answering reports at how many of the addresses something listens.
func answering(ctx context.Context, name string, addrs []string) Member {
	shown := Member{Name: name, State: stateReady}
	if len(addrs) == 0 {
		shown.State, shown.Says = stateNotReady, "its address was not given"
		return shown
	}
	up := 0
	for _, addr := range addrs {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			up++
			_ = conn.Close()
		}
	}
	switch {
	case up == 0:
		shown.State, shown.Says = stateDead, "does not answer"
	case up < len(addrs):
		shown.Says = fmt.Sprintf("%d of %d answer", up, len(addrs))
	}
	return shown
}
