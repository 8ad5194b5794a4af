// Victim is a process with a single step, for the tests of the kill points.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"

	"orderstock/loadtest/faultpoint"
)

func main() {
	var passed atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/faults", faultpoint.Handler())
	mux.Handle("/events", faultpoint.Events())
	mux.HandleFunc("/step", func(w http.ResponseWriter, r *http.Request) {
		flag := faultpoint.Values{Flag: r.URL.Query().Get("flag")}
		if err := faultpoint.At(r.Context(), faultpoint.Commit, faultpoint.Before, flag); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		passed.Add(1)
		fmt.Fprint(w, "passed")
	})
	mux.HandleFunc("/passed", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, passed.Load()) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, mux))
	os.Exit(1)
}
