// Package lab runs the whole system so that every part of it can be broken: real MySQL, Redis and ZooKeeper, two order
// and two stock services built with the tag "faults", each as a separate process, and a proxy on every connection
// between any two of them.
//
// A Replica can be killed, paused, restarted, and armed at a named point of the protocol (package faultpoint). A Wire
// can be cut, reset, slowed, made one-way or made to lose replies; the wire between the services can also deliver every
// request twice.
//
// It is separate from package stack because it links the proxy, the fault points and the patches of the mutants, which
// a program that only brings the system up, such as cmd/dev, should not link.
package lab
