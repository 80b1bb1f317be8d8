package admin_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/admin"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Reads of other users' data are on record at the answering peer; reads of a user's own,
// or what everybody is shown, is not.
func TestReadsAreKept(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(apitest.Secretive(""))
	kept := &apitest.Refusals{}
	s.API.Peer.Reads = kept
	for _, v := range []struct{ token, path string }{
		{apitest.Ann, "/jobs/1"}, {apitest.Ann, "/jobs/1/logs"}, {apitest.Bob, "/jobs/1"}, {apitest.Viewer, "/queue"}, {apitest.Operator, "/queue"}, {apitest.Adam, "/healthz"}, // not kept
		{apitest.Bob, "/jobs/1/logs"}, {apitest.Viewer, "/snapshot"}, // refused: no reads
		{apitest.Operator, "/jobs/1"}, {apitest.Operator, "/jobs/1"}, {apitest.Operator, "/jobs/1/logs"}, {apitest.Adam, "/snapshot"}, {apitest.Operator, "/jobs/77"}, {apitest.Operator, "/jobs/2/tasks"},
	} {
		s.Do(http.MethodGet, v.path, "", apitest.As(v.token)...)
	}
	var got []string
	for _, r := range kept.List {
		got = append(got, r.Actor+" "+r.Path)
		if r.From != "127.0.0.1" || r.Code != core.CodeRead || r.Status != http.StatusOK || r.Time.IsZero() {
			t.Errorf("kept is %+v", r)
		}
	}
	if want := []string{
		"user:otto /jobs/1", "user:otto /jobs/1/logs", "user:adam /snapshot", "user:otto /jobs/77", "user:otto /jobs/2/tasks",
	}; !slices.Equal(got, want) {
		t.Errorf("kept are %q, want %q", got, want)
	}
	var told wire.Refusals
	s.Do(http.MethodGet, "/audit/reads", "", apitest.As(apitest.Operator)...).Into(&told)
	if len(told.Refusals) != len(kept.List) || told.Refusals[0].Code != core.CodeRead {
		t.Errorf("told are %+v", told)
	}
	s.Do(http.MethodGet, "/audit/reads", "", apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
}

// Records that are not as they were written are named when a peer starts.
func TestRecordsAreCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var log bytes.Buffer
	s.API.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.API.Peer.Refusals, s.API.Peer.Reads = &apitest.Refusals{Bad: 7, What: "a record is missing, or was put in"}, &apitest.Refusals{}
	admin.CheckRecords(t.Context(), s.API)
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "records=refusals first_bad=7") || strings.Contains(text, "records=reads") {
		t.Errorf("the log says %s", text)
	}
}
