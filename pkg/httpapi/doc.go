// Package httpapi is the HTTP side that both services share: strict JSON in,
// problem details (RFC 9457) out, request ids and deadlines passed on, the
// service token, health, and a server that stops without cutting a request.
package httpapi
