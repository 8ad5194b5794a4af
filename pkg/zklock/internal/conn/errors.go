package conn

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// Package zklock exports the first two under names of its own.
var (
	ErrClosed = errors.New("zklock: session closed")
	ErrLost   = errors.New("zklock: lock lost")

	// ErrExpired and ErrSilence say why a lifetime has ended.
	ErrExpired = errors.New("ZooKeeper session expired")
	ErrSilence = errors.New("nothing heard from ZooKeeper for a session timeout")
)

// Unanswered reports whether err is a failure of the connection and not an answer: nobody knows
// whether the request was carried out.
func Unanswered(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionMoved)
}

// Temporary reports whether the same request may succeed after a reconnect or in the next session.
func Temporary(err error) bool {
	return Unanswered(err) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired)
}
