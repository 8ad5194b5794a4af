// Package trace receives the spans of the services and of the load tester by OTLP over HTTP, keeps the latest traces,
// and joins the spans of one order.
package trace
