// Package trace receives the spans of the services and of the load tester by OTLP over HTTP, keeps the
// last traces, and puts the spans of one order together.
package trace
