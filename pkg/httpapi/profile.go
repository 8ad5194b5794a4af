package httpapi

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"
)

// addProfiles adds /debug/pprof. Recording the block and mutex profiles slows every wait, so they are recorded only
// during a request with ?seconds=N.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/block", whileAsked("block", runtime.SetBlockProfileRate, int(10*time.Microsecond)))
	mux.HandleFunc("/debug/pprof/mutex", whileAsked("mutex", func(rate int) { runtime.SetMutexProfileFraction(rate) }, 10))
}

// whileAsked serves the profile, recorded at the rate for as long as requested.
func whileAsked(profile string, setRate func(int), rate int) http.HandlerFunc {
	var one sync.Mutex // allows one recording at a time
	return func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("seconds") == "" {
			http.Error(w, "say for how long to record: ?seconds=10", http.StatusBadRequest)
			return
		}
		one.Lock()
		defer one.Unlock()
		setRate(rate)
		defer setRate(0)
		pprof.Handler(profile).ServeHTTP(w, r)
	}
}
