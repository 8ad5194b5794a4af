// Package httpapi is the HTTP side that both services share: strict JSON in, problem details (RFC 9457) out, propagated
// request ids and deadlines, the service token, health, and a server that stops without cutting off requests.
package httpapi
