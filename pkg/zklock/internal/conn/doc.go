// Package conn is everything in zklock that talks to ZooKeeper: the connection, how long its
// ZooKeeper session is alive, requests that end with a context, pauses between attempts, watches,
// and the choice of servers. It knows nothing of locks.
//
// Rules for changes:
//
//   - packets.go relies on the framing of ZooKeeper's protocol and on the client library writing each packet in one
//     call. Its tests, and package zklock's that play a server, fail when a new version of the library breaks this.
//   - creation.go relies on the client library reading no further than the path of a create's answer.
//   - A Lifetime must end no later than the server can expire the session. Everything that zklock
//     says about lost locks rests on Clock, which counts from the sending of a request and never
//     from the arrival of its answer, and only of requests whose success needs the leader.
//   - No answer, a refused handshake, a new session asked for, and a session that is over are four states. Only the
//     last one, Clock.Expired, shows that the old nodes are gone.
//   - Close waits for every goroutine, so start goroutines by Conn.Go, and end them with the context of Conn.Context.
package conn
