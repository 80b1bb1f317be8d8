package root

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// A log that is followed goes on behind the last byte when the connection breaks, a part that was not kept is named, and the end is found.
func TestLogsGoOn(t *testing.T) {
	t.Parallel()
	answers := []struct {
		offset int64
		body   string
		cut    bool
		ended  bool
	}{{0, "one\ntw", true, false}, {6, "o\n", false, false}, {100, "three\n", false, true}, {106, "", false, true}}
	var mu sync.Mutex
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs/17", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(&wire.Detail{Job: wire.Job{ID: "17", State: "completed", Attempts: 1}, History: []wire.Attempt{}}); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /jobs/17/logs", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := len(asked)
		asked = append(asked, r.URL.Query().Get("offset"))
		mu.Unlock()
		a := answers[min(n, len(answers)-1)]
		w.Header().Set(wire.HeaderLogOffset, strconv.FormatInt(a.offset, 10))
		w.Header().Set(wire.HeaderLogSize, "106")
		w.Header().Set(wire.HeaderLogEnded, strconv.FormatBool(a.ended))
		_, _ = w.Write([]byte(a.body)) // the reader of this test stays
		if a.cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	code, out, errs := called("logs", "-f", "--out", "--address", strings.TrimPrefix(s.URL, "http://"), "17")
	want := "one\ntwo\n\n[berth: 92 bytes of output were not kept]\nthree\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, %q, want %q; %s", code, out, want, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(asked, []string{"", "6", "8", "106"}) {
		t.Errorf("asked were the offsets %q", asked)
	}
}
