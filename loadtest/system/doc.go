// Package system runs the whole of orderstock for a demo, a test or an experiment: real MySQL, Redis and ZooKeeper, and
// any number of order and stock services, each as a separate process.
//
// Open compiles the services, and starts them with their servers. A breakable System begins with the servers alone:
// StartServices starts its services, and replaces them. They are built with the tag "faults" and every mutant behind
// its switch, and a proxy is on every connection between any two parts.
//
// Each mutant is a patch in the folder patches: a readable diff against the product that names the published fault it
// brings back and the invariant that must catch it. One build holds all mutants. One is on if the environment variable
// MUTANT, a comma-separated list, contains its name, the patch's file name. The patches call mutant(name), a function
// that the build adds to each package that they change.
//
// A Service can be killed, paused, restarted and, if it is breakable, armed at a named point of the protocol (package
// faultpoint). A Wire can be cut, reset, slowed, made one-way or made to lose replies; the wire between the services
// can also deliver every request twice. AttachCompose returns the stack of the compose file.
package system
