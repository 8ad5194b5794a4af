package zklock

import (
	"log/slog"
	"time"

	"github.com/go-zookeeper/zk"
)

// SessionOption sets one of the With… options of Connect and Wrap.
type SessionOption func(*sessionOptions)

type sessionOptions struct {
	timeout time.Duration
	dial    zk.Dialer
	log     *slog.Logger
	auth    []auth
}

type auth struct {
	scheme string
	secret []byte
}

func sessionOptionsOf(opts []SessionOption) sessionOptions {
	o := sessionOptions{timeout: 10 * time.Second, log: slog.New(slog.DiscardHandler)}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// WithSessionTimeout sets the session timeout to ask for; the server may answer with another, see
// Session.Timeout. It is how long a lock outlives a holder that died, and how long a holder may be
// cut off without losing its locks. Default: 10 s. For Connect only.
func WithSessionTimeout(d time.Duration) SessionOption {
	return func(o *sessionOptions) { o.timeout = d }
}

// WithDialer sets how to connect, for TLS or a proxy. Default: net.DialTimeout. For Connect only.
func WithDialer(dial zk.Dialer) SessionOption {
	return func(o *sessionOptions) { o.dial = dial }
}

// WithLogger sets where the loss of sessions and the client library's own messages go.
// Default: nowhere.
func WithLogger(log *slog.Logger) SessionOption {
	return func(o *sessionOptions) { o.log = log }
}

// WithAuth authenticates the session, for example with the scheme "digest" and the secret
// "user:password", so that locks can be kept from others by WithACL. It may be given repeatedly.
// Default: none.
func WithAuth(scheme string, secret []byte) SessionOption {
	return func(o *sessionOptions) { o.auth = append(o.auth, auth{scheme, secret}) }
}
