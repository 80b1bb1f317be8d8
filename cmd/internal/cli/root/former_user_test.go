package root

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The newest job of a user is not that of a former user of the same name.
func TestTheNewestJobIsTheUsersOwn(t *testing.T) {
	t.Setenv("BERTH_TOKEN", "secret-of-dora")
	answer := func(w http.ResponseWriter, v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	created := time.Date(2031, 5, 1, 9, 0, 0, 0, time.UTC)
	for submitted, own := range map[time.Time]bool{created.Add(-time.Hour): false, created: true, created.Add(time.Hour): true} {
		asked := ""
		mux := http.NewServeMux()
		mux.HandleFunc("GET /whoami", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, wire.Whoami{Authentication: true, Name: "dora", Since: created})
		})
		mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, wire.Jobs{Jobs: []wire.Job{{ID: "6", User: "dora", SubmittedAt: submitted}}})
		})
		mux.HandleFunc("GET /jobs/", func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Path
			answer(w, wire.Detail{})
		})
		peer := httptest.NewServer(mux)
		code, out, errs := called("show", "--address", strings.TrimPrefix(peer.URL, "http://"), "@")
		peer.Close()
		refused := code == cmdline.ExitNotFound && strings.Contains(errs, "job 6 is of a former user of the name")
		if own != (asked == "/jobs/6") || own == refused {
			t.Errorf("submitted %s, created %s: asked for %q, exit code %d, %s%s", submitted, created, asked, code, out, errs)
		}
	}
}
