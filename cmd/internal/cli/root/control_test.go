package root

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What is wrong with several jobs is told in one line, each thing once and set apart.
func TestErrorsOfSeveralJobs(t *testing.T) {
	f := &fakeAPI{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/queue/")
		if id == "1" {
			fmt.Fprint(w, `{"success":true,"message":"canceled"}`)
			return
		}
		detail := map[string]string{"2": "job 2 has ended", "3": "its owner is another user"}[id]
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"title":"Conflict","status":409,"code":"conflict","detail":%q}`, detail)
	}))}
	t.Cleanup(f.Close)
	code, out, errs := f.berth(t, "cancel", "1", "2", "3")
	if code != cli.ExitFailure || out != "Job 1: canceled\nCanceled 1 of 3 jobs\n" || errs != "berth: job 2 has ended; job 3: its owner is another user\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
