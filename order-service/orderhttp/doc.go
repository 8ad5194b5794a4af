// Package orderhttp serves the order service's use cases as JSON over HTTP:
//
//	POST /v1/orders              places an order
//	GET  /                       lists the calls
//	GET  /v1/orders/{id}         reads one
//	GET  /v1/orders              reads a page: ?status=&after=&limit=, up to 500 orders and 1,000 items
//	POST /v1/orders/{id}/cancel  cancels one
//
// HEAD works wherever GET does. Ids are strings, amounts are whole minor units of the currency, errors are problem
// details with a stable code.
package orderhttp
