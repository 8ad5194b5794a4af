package coordination

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

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
