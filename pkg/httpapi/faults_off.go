//go:build !faults

package httpapi

import "net/http"

// addFaultControl adds nothing: this build has no kill points.
func addFaultControl(*http.ServeMux) {}
