// Package tracing records the steps of an order as OpenTelemetry spans.
//
// A step is recorded only below a span that is recorded already: that of a
// request whose trace was sampled. Everywhere else each function returns at once
// and allocates nothing. So whoever lets a request in decides about its trace,
// and the code that carries it out need not know.
//
// The package depends on OpenTelemetry's API for spans alone. Package otlp exports them.
package tracing
