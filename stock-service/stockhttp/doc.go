// Package stockhttp serves the stock service over HTTP: routes, limits, and the table from the domain's errors to the
// codes of package stockapi.
package stockhttp
