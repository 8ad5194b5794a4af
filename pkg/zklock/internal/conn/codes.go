package conn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Class says how an error of a request is to be handled.
type Class string

const (
	// Refused is an answer: the same request would get it again.
	Refused Class = "refused"
	// Failed is a fault in the server: it is unknown whether the request was executed, and the same
	// request would fail again. Codes that are not in Codes are taken for it.
	Failed Class = "failed"
	// Later says that the request was not executed, and may succeed soon, perhaps in the next session.
	Later Class = "later"
	// Unknown says that the request may have been executed, and may succeed soon.
	Unknown Class = "unknown"
)

// Code is an error code of ZooKeeper.
type Code struct {
	Class Class
	Text  string // for errors that the client library has no name for
}

// Codes has the error codes of ZooKeeper's KeeperException.Code.
var Codes = map[int]Code{
	-1:   {Failed, "system error"},
	-2:   {Failed, "runtime inconsistency"},
	-3:   {Failed, "data inconsistency"},
	-4:   {Unknown, "connection loss"},
	-5:   {Failed, "marshalling error: the server's answer to its own exception"},
	-6:   {Refused, "unknown operation"},
	-7:   {Unknown, "operation timeout"},
	-8:   {Refused, "bad arguments"},
	-12:  {Later, "unknown session"},
	-13:  {Later, "no quorum for a new configuration"},
	-14:  {Later, "reconfiguration in progress"},
	-100: {Refused, "API error"},
	-101: {Refused, "no node"},
	-102: {Refused, "no permission"},
	-103: {Refused, "bad version"},
	-108: {Refused, "no children for ephemeral nodes"},
	-110: {Refused, "node exists"},
	-111: {Refused, "not empty"},
	-112: {Later, "session expired"},
	-113: {Refused, "invalid callback"},
	-114: {Refused, "invalid ACL"},
	-115: {Refused, "authentication failed"},
	-118: {Unknown, "session moved"},
	-119: {Later, "a read-only server"},
	-120: {Refused, "ephemeral node in a local session"},
	-121: {Refused, "no watcher"},
	-122: {Unknown, "request timeout"},
	-123: {Refused, "reconfiguration disabled"},
	-124: {Refused, "the server asks for authentication: give WithAuth; SASL is not supported"},
	-125: {Refused, "quota exceeded"},
	-127: {Later, "throttled"},
}

// classOf returns the class of an error, and "" for nil.
func classOf(err error) Class {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrSessionMoved):
		return Unknown
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, zk.ErrSessionExpired):
		return Later
	}
	code, ok := unnamedCode(err)
	if !ok {
		return Refused
	}
	if c, ok := Codes[code]; ok {
		return c.Class
	}
	return Failed
}

// unnamedCode returns the code of an error that the client library has no name for. The library keeps
// such a code in the text alone.
func unnamedCode(err error) (code int, ok bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if digits, found := strings.CutPrefix(err.Error(), "unknown error: "); found {
			code, e := strconv.Atoi(digits)
			return code, e == nil
		}
	}
	return 0, false
}

// Explained adds the meaning of a code to an error that the client library has no name for.
func Explained(err error) error {
	if code, ok := unnamedCode(err); ok && Codes[code].Text != "" {
		return fmt.Errorf("%w: %s", err, Codes[code].Text)
	}
	return err
}

// OverQuota reports whether the server refused a request because a quota would be exceeded.
func OverQuota(err error) bool {
	code, _ := unnamedCode(err)
	return code == -125
}

// Unanswered reports whether it is unknown whether the request was executed.
func Unanswered(err error) bool {
	class := classOf(err)
	return class == Unknown || class == Failed
}

// Temporary reports whether the same request may succeed later, after a reconnect or in the next session.
func Temporary(err error) bool {
	class := classOf(err)
	return class == Later || class == Unknown
}
