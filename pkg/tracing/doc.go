// Package tracing records the steps of an order as OpenTelemetry spans.
//
// A step is recorded only below the span of a request whose trace was sampled. Everywhere else each function returns at
// once and allocates nothing. So the entry point decides whether a request is traced, and the code below it need not
// know.
//
// Start exports the spans of a program by OTLP over HTTP, if the environment asks for it, and propagates traces by
// HTTP, SQL and Redis. Without an address in the environment nothing is set up, and nothing is exported.
package tracing
