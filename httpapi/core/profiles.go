package core

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"

	"github.com/berth-gpu/berth/trust"
)

// profilesPath is where the profiles of this process are, as those of package net/http/pprof: "profile" for the processor, "heap",
// "goroutine", "mutex", "allocs", "threadcreate", "block", "trace".
const profilesPath = "/debug/pprof/"

// contention is of how many waits for a mutex one is noted while a profile of them is taken.
const contention = 10

// withProfiles serves profiles on the socket for root on this machine. On any other connection the path does not exist: profiles cost time,
// and show what the process does.
func withProfiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, is := strings.CutPrefix(r.URL.Path, profilesPath)
		if _, local := r.Context().Value(connKey{}).(*trust.LocalConn); !is || !local || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		switch name {
		case "profile":
			pprof.Profile(w, r)
		case "trace":
			pprof.Trace(w, r)
		case "mutex": // with ?seconds=N: waits are noted for that time only
			runtime.SetMutexProfileFraction(contention)
			defer runtime.SetMutexProfileFraction(0) // nothing else sets it, and two profiles at once must not leave it on
			pprof.Index(w, r)
		default:
			pprof.Index(w, r)
		}
	})
}
