package memory

import (
	"encoding/binary"

	"github.com/go-zookeeper/zk"
)

// The protocol's encoding: big-endian integers; strings, byte slices and lists with their length before them.

// reader takes values from a packet. Once one is missing, it returns zero values and short is true.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.short = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// bytes returns a copy, and nil for a length of -1.
func (r *reader) bytes() []byte {
	n := r.int32()
	if n == -1 {
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) string() string { return string(r.bytes()) }

func list[T any](r *reader, element func() T) (all []T) {
	for n := r.int32(); n > 0 && !r.short; n-- {
		all = append(all, element())
	}
	return all
}

func (r *reader) acl() zk.ACL { return zk.ACL{Perms: r.int32(), Scheme: r.string(), ID: r.string()} }

// writer is a packet being made.
type writer []byte

func (w *writer) int32(v int32) { *w = binary.BigEndian.AppendUint32(*w, uint32(v)) }
func (w *writer) int64(v int64) { *w = binary.BigEndian.AppendUint64(*w, uint64(v)) }

func (w *writer) bool(v bool) {
	if v {
		*w = append(*w, 1)
	} else {
		*w = append(*w, 0)
	}
}

func (w *writer) bytes(v []byte) {
	if v == nil {
		w.int32(-1)
		return
	}
	w.int32(int32(len(v)))
	*w = append(*w, v...)
}

func (w *writer) string(v string) { w.bytes([]byte(v)) }

func (w *writer) stat(s zk.Stat) {
	for _, v := range []int64{s.Czxid, s.Mzxid, s.Ctime, s.Mtime} {
		w.int64(v)
	}
	for _, v := range []int32{s.Version, s.Cversion, s.Aversion} {
		w.int32(v)
	}
	w.int64(s.EphemeralOwner)
	w.int32(s.DataLength)
	w.int32(s.NumChildren)
	w.int64(s.Pzxid)
}

// packet returns the written bytes, with their length before them.
func (w *writer) packet() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(*w))), *w...)
}
