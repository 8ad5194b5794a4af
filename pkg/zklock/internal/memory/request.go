package memory

import "github.com/go-zookeeper/zk"

// The protocol's operations.
const (
	opCreate          = 1
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSetData         = 5
	opGetACL          = 6
	opSetACL          = 7
	opGetChildren     = 8
	opSync            = 9
	opPing            = 11
	opGetChildren2    = 12
	opCheck           = 13
	opMulti           = 14
	opCreate2         = 15
	opCreateContainer = 19
	opSetAuth         = 100
	opSetWatches      = 101
	opClose           = -11
	opError           = -1
)

// request executes a request and answers it. It returns whether the connection goes on. The caller
// holds the Server's mutex.
func (c *conn) request(r *reader) bool {
	s := c.server
	xid, op := r.int32(), r.int32()
	if s.sessions[c.session.id] != c.session || c.session.conn != c {
		return false // it is over, or served over another connection
	}
	c.session.expiry.Reset(c.session.timeout + tick)
	var body writer
	result := c.perform(op, r, &body)
	var w writer
	w.int32(xid)
	w.int64(s.tree.zxid)
	w.int32(int32(result))
	if result == ok {
		w = append(w, body...)
	}
	c.send(w)
	return op != opClose && result != authFailed && result != unknownOperation
}

// perform executes a request: a read, or a transaction of one operation or of several.
func (c *conn) perform(op int32, r *reader, w *writer) code {
	t := c.server.tree
	switch op {
	case opPing:
		return ok
	case opClose:
		c.server.endSession(c.session)
		return ok
	case opSetAuth:
		_ = r.int32() // the protocol's type, always 0
		return c.authenticate(r.string(), r.bytes())
	case opSetWatches:
		c.setWatches(r)
		return ok
	case opSync:
		w.string(r.string())
		return ok
	case opGetACL:
		n := t.nodes[r.string()]
		switch {
		case n == nil:
			return noNode
		case !c.may(n, zk.PermRead|zk.PermAdmin):
			return noAuth
		}
		w.int32(int32(len(n.acl)))
		for _, a := range n.acl {
			w.int32(a.Perms)
			w.string(a.Scheme)
			w.string(a.ID)
		}
		w.stat(n.fullStat())
		return ok
	case opExists, opGetData, opGetChildren, opGetChildren2:
		return c.look(op, r.string(), r.bool(), w)
	}
	x := t.begin(c)
	if op == opMulti {
		return c.multi(x, r, w)
	}
	result := c.operate(x, op, r, w)
	x.end(result)
	return result
}

// look reads a node and sets a watch on it.
func (c *conn) look(op int32, path string, watch bool, w *writer) code {
	t := c.server.tree
	n := t.nodes[path]
	switch {
	case n == nil && op == opExists && watch:
		t.data.add(path, c)
		return noNode
	case n == nil:
		return noNode
	case op != opExists && !c.may(n, zk.PermRead):
		return noAuth
	}
	kind := t.data
	switch op {
	case opGetData:
		w.bytes(n.data)
	case opGetChildren, opGetChildren2:
		kind = t.children
		w.int32(int32(len(n.children)))
		for name := range n.children {
			w.string(name)
		}
	}
	if op != opGetChildren {
		w.stat(n.fullStat())
	}
	if watch {
		kind.add(path, c)
	}
	return ok
}

// operate executes one operation of a transaction.
func (c *conn) operate(x *txn, op int32, r *reader, w *writer) (result code) {
	if c.server.Old && (op == opCreate2 || op == opCreateContainer) {
		return unknownOperation
	}
	switch op {
	case opCreate, opCreate2, opCreateContainer:
		path, data, acl, flags := r.string(), r.bytes(), list(r, r.acl), r.int32()
		if r.short {
			return marshallingError
		}
		if path, result = x.create(path, data, acl, flags); result == ok {
			w.string(path)
			if op != opCreate {
				w.stat(x.nodes[path].fullStat())
			}
		}
	case opDelete:
		result = x.remove(r.string(), r.int32(), c.server.sessions)
	case opSetData:
		var stat zk.Stat
		if stat, result = x.set(r.string(), r.bytes(), r.int32()); result == ok {
			w.stat(stat)
		}
	case opSetACL:
		var stat zk.Stat
		if stat, result = x.setACL(r.string(), list(r, r.acl), r.int32()); result == ok {
			w.stat(stat)
		}
	case opCheck:
		_, result = x.check(r.string(), r.int32(), zk.PermRead)
	default:
		return unknownOperation
	}
	if r.short {
		return marshallingError
	}
	return result
}

// multi executes all operations or none. It answers with the result of each; if one fails, the others
// have not been executed.
func (c *conn) multi(x *txn, r *reader, w *writer) code {
	var results []writer
	failed, all := ok, 0
	for ; ; all++ {
		op, done, _ := r.int32(), r.bool(), r.int32()
		if done || r.short {
			break
		}
		var body writer
		body.int32(op)
		body.bool(false)
		body.int32(int32(ok))
		if failed != ok {
			skip(op, r)
		} else if failed = c.operate(x, op, r, &body); failed == ok {
			results = append(results, body)
		}
	}
	if r.short {
		failed = marshallingError
	}
	x.end(failed)
	for i := range all {
		if failed == ok {
			*w = append(*w, results[i]...)
			continue
		}
		result := ok
		switch {
		case i == len(results):
			result = failed
		case i > len(results):
			result = runtimeInconsistency
		}
		w.int32(opError)
		w.bool(false)
		w.int32(int32(result))
		w.int32(int32(result))
	}
	w.int32(opError)
	w.bool(true)
	w.int32(-1)
	return ok
}

// skip reads over an operation.
func skip(op int32, r *reader) {
	_ = r.string()
	switch op {
	case opCreate, opCreate2, opCreateContainer:
		_, _ = r.bytes(), list(r, r.acl)
	case opSetData:
		_ = r.bytes()
	}
	_ = r.int32()
}

// setWatches sets a client's watches again after a reconnect, and reports at once the events that it has missed.
func (c *conn) setWatches(r *reader) {
	t, seen := c.server.tree, r.int64()
	for _, path := range list(r, r.string) {
		switch n := t.nodes[path]; {
		case n == nil:
			c.event(zk.EventNodeDeleted, path)
		case n.stat.Mzxid > seen:
			c.event(zk.EventNodeDataChanged, path)
		default:
			t.data.add(path, c)
		}
	}
	for _, path := range list(r, r.string) {
		if t.nodes[path] != nil {
			c.event(zk.EventNodeCreated, path)
		} else {
			t.data.add(path, c)
		}
	}
	for _, path := range list(r, r.string) {
		switch n := t.nodes[path]; {
		case n == nil:
			c.event(zk.EventNodeDeleted, path)
		case n.stat.Pzxid > seen:
			c.event(zk.EventNodeChildrenChanged, path)
		default:
			t.children.add(path, c)
		}
	}
}
