// Package trace receives the spans of the services and of the load tester by OTLP over HTTP, keeps those of the
// last traces, and puts together what belongs to one order.
package trace
