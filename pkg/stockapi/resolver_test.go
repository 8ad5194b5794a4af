package stockapi_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver returns a resolver that knows these two addresses of every name.
func resolver(t *testing.T, six, four net.IP) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer func() { _ = server.Close() }()
			var length [2]byte
			if _, err := io.ReadFull(server, length[:]); err != nil {
				return
			}
			raw := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(server, raw); err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(raw); err != nil {
				t.Error(err)
				return
			}
			header := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60}
			var body dnsmessage.ResourceBody = &dnsmessage.AResource{A: [4]byte(four.To4())}
			if m.Questions[0].Type == dnsmessage.TypeAAAA {
				body = &dnsmessage.AAAAResource{AAAA: [16]byte(six.To16())}
			}
			m.Response, m.Additionals = true, nil
			m.Answers = []dnsmessage.Resource{{Header: header, Body: body}}
			answer, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}()
		return client, nil
	}}
}
