// Package stack brings up the whole of orderstock on this machine: MySQL, Redis and ZooKeeper as child processes or at
// given addresses, the schemas, and any number of order and stock services from given binaries, each on a free port of
// 127.0.0.1, with its log in the run's folder.
//
// Each service is a *Service that can be killed, paused and restarted separately, with another environment if need be.
// Config.Route can change the addresses given to a service, to insert proxies between any two of them.
//
// Everything dies with the process that called Up (see package servers).
package stack
