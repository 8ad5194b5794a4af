package memory

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// code is an error of the protocol, KeeperException.Code.
type code int32

const (
	ok                      code = 0
	runtimeInconsistency    code = -2
	marshallingError        code = -5
	unknownOperation        code = -6
	badArguments            code = -8
	noNode                  code = -101
	noAuth                  code = -102
	badVersion              code = -103
	noChildrenForEphemerals code = -108
	nodeExists              code = -110
	notEmpty                code = -111
	invalidACL              code = -114
	authFailed              code = -115
)

// node is a node of the tree. Its Stat is complete but for the lengths.
type node struct {
	data     []byte
	acl      []zk.ACL
	stat     zk.Stat
	children map[string]struct{}
	next     int32 // number of the next sequential child: the count of creates
}

func (n *node) fullStat() zk.Stat {
	s := n.stat
	s.DataLength, s.NumChildren = int32(len(n.data)), int32(len(n.children))
	return s
}

// tree is the nodes by path, and the watches on them. The Server's mutex guards it.
type tree struct {
	nodes map[string]*node
	zxid  int64 // of the last transaction
	// data and children are the connections that watch a node, or its children.
	data, children watches
}

type watches map[string]map[*conn]struct{}

func (w watches) add(path string, c *conn) {
	if w[path] == nil {
		w[path] = map[*conn]struct{}{}
	}
	w[path][c] = struct{}{}
}

func (w watches) remove(c *conn) {
	for path, watching := range w {
		if delete(watching, c); len(watching) == 0 {
			delete(w, path)
		}
	}
}

func newTree() *tree {
	root := &node{acl: zk.WorldACL(zk.PermAll), children: map[string]struct{}{}}
	return &tree{nodes: map[string]*node{"/": root}, data: watches{}, children: watches{}}
}

// fire sends the event to all that watch the path in one of the kinds, once each, and ends those watches.
func (t *tree) fire(event zk.EventType, path string, kinds ...watches) {
	told := map[*conn]struct{}{}
	for _, kind := range kinds {
		for c := range kind[path] {
			if _, again := told[c]; !again {
				told[c] = struct{}{}
				c.event(event, path)
			}
		}
		delete(kind, path)
	}
}

// txn is a transaction: operations that are done at once or, if one fails, not at all.
type txn struct {
	*tree
	by   *conn // nil for the server itself, which may do all
	zxid int64
	undo []func()
	tell []func() // of the watches
}

func (t *tree) begin(by *conn) *txn { return &txn{tree: t, by: by, zxid: t.zxid + 1} }

// end commits the transaction if result is ok, and takes its operations back otherwise.
func (x *txn) end(result code) {
	if result != ok {
		for _, f := range slices.Backward(x.undo) {
			f()
		}
		return
	}
	x.tree.zxid = x.zxid
	for _, f := range x.tell {
		f()
	}
}

// may reports whether the connection has the permission on n.
func (x *txn) may(n *node, permission int32) bool { return x.by == nil || x.by.may(n, permission) }

const (
	flagEphemeral  = 1
	flagSequential = 2
)

// create makes a node and returns its path.
func (x *txn) create(p string, data []byte, acl []zk.ACL, flags int32) (string, code) {
	if !strings.HasPrefix(p, "/") || p == "/" || flags&flagSequential == 0 && strings.HasSuffix(p, "/") {
		return "", badArguments
	}
	acl, result := x.by.expand(acl)
	if result != ok {
		return "", result
	}
	dir := path.Dir(p)
	parent := x.nodes[dir]
	switch {
	case parent == nil:
		return "", noNode
	case !x.may(parent, zk.PermCreate):
		return "", noAuth
	}
	if flags&flagSequential != 0 {
		p += fmt.Sprintf("%010d", parent.next)
	}
	switch {
	case x.nodes[p] != nil:
		return "", nodeExists
	case parent.stat.EphemeralOwner != 0:
		return "", noChildrenForEphemerals
	}
	now := time.Now().UnixMilli()
	n := &node{
		data: data, acl: acl, children: map[string]struct{}{},
		stat: zk.Stat{Czxid: x.zxid, Mzxid: x.zxid, Pzxid: x.zxid, Ctime: now, Mtime: now},
	}
	before, next := parent.stat, parent.next
	x.nodes[p] = n
	parent.children[path.Base(p)] = struct{}{}
	if parent.next < math.MaxInt32 {
		parent.next++
	}
	parent.stat.Cversion++
	parent.stat.Pzxid = x.zxid
	if flags&flagEphemeral != 0 {
		n.stat.EphemeralOwner = x.by.session.id
		x.by.session.nodes[p] = struct{}{}
	}
	x.undo = append(x.undo, func() {
		delete(x.nodes, p)
		delete(parent.children, path.Base(p))
		parent.stat, parent.next = before, next
		if flags&flagEphemeral != 0 {
			delete(x.by.session.nodes, p)
		}
	})
	x.tell = append(x.tell, func() {
		x.fire(zk.EventNodeCreated, p, x.data)
		x.fire(zk.EventNodeChildrenChanged, dir, x.children)
	})
	return p, ok
}

// remove deletes a node.
func (x *txn) remove(p string, version int32, owners map[int64]*session) code {
	n, dir := x.nodes[p], path.Dir(p)
	parent := x.nodes[dir]
	switch {
	case n == nil:
		return noNode
	case p == "/":
		return badArguments
	case !x.may(parent, zk.PermDelete):
		return noAuth
	case version != -1 && version != n.stat.Version:
		return badVersion
	case len(n.children) > 0:
		return notEmpty
	}
	before := parent.stat
	delete(x.nodes, p)
	delete(parent.children, path.Base(p))
	parent.stat.Cversion++
	parent.stat.Pzxid = x.zxid
	owner := owners[n.stat.EphemeralOwner]
	if owner != nil {
		delete(owner.nodes, p)
	}
	x.undo = append(x.undo, func() {
		x.nodes[p] = n
		parent.children[path.Base(p)] = struct{}{}
		parent.stat = before
		if owner != nil {
			owner.nodes[p] = struct{}{}
		}
	})
	x.tell = append(x.tell, func() {
		x.fire(zk.EventNodeDeleted, p, x.data, x.children)
		x.fire(zk.EventNodeChildrenChanged, dir, x.children)
	})
	return ok
}

// set replaces a node's data.
func (x *txn) set(p string, data []byte, version int32) (zk.Stat, code) {
	n, result := x.check(p, version, zk.PermWrite)
	if result != ok {
		return zk.Stat{}, result
	}
	before := *n
	n.data = data
	n.stat.Version++
	n.stat.Mzxid, n.stat.Mtime = x.zxid, time.Now().UnixMilli()
	x.undo = append(x.undo, func() { n.data, n.stat = before.data, before.stat })
	x.tell = append(x.tell, func() { x.fire(zk.EventNodeDataChanged, p, x.data) })
	return n.fullStat(), ok
}

// setACL replaces a node's ACL.
func (x *txn) setACL(p string, acl []zk.ACL, version int32) (zk.Stat, code) {
	n := x.nodes[p]
	acl, result := x.by.expand(acl)
	switch {
	case result != ok:
		return zk.Stat{}, result
	case n == nil:
		return zk.Stat{}, noNode
	case !x.may(n, zk.PermAdmin):
		return zk.Stat{}, noAuth
	case version != -1 && version != n.stat.Aversion:
		return zk.Stat{}, badVersion
	}
	before := *n
	x.undo = append(x.undo, func() { n.acl, n.stat = before.acl, before.stat })
	n.acl = acl
	n.stat.Aversion++
	return n.fullStat(), ok
}

// check returns the node if it has the version and the connection the permission on it.
func (x *txn) check(p string, version, permission int32) (*node, code) {
	n := x.nodes[p]
	switch {
	case n == nil:
		return nil, noNode
	case !x.may(n, permission):
		return nil, noAuth
	case version != -1 && version != n.stat.Version:
		return nil, badVersion
	}
	return n, ok
}
