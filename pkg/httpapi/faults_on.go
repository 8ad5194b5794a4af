//go:build faults

package httpapi

import (
	"net/http"

	"orderstock/pkg/faultpoint"
)

// addFaultControl lets a test harness arm this process's kill points.
func addFaultControl(mux *http.ServeMux) { mux.Handle("/faults", faultpoint.Handler()) }
