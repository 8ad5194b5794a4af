// Package tracing records the steps of an order as OpenTelemetry spans.
//
// A step is recorded only below the span of a request whose trace was sampled. Everywhere else each function returns at
// once and allocates nothing. So the entry point decides whether a request is traced, and the code below it need not
// know.
//
// The package depends only on OpenTelemetry's API for spans. Package otlp exports them.
package tracing
