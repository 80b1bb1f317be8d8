package httpapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/admin"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Reads of other users' data are on record at the answering peer; reads of a user's own,
// or what everybody is shown, is not.
func TestReadsAreKept(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.with(secretive(""))
	kept := &refusals{}
	s.api.Peer.Reads = kept
	for _, v := range []struct{ token, path string }{
		{ann, "/jobs/1"}, {ann, "/jobs/1/logs"}, {bob, "/jobs/1"}, {viewer, "/queue"}, {operatr, "/queue"}, {adam, "/healthz"}, // not kept
		{bob, "/jobs/1/logs"}, {viewer, "/snapshot"}, // refused: no reads
		{operatr, "/jobs/1"}, {operatr, "/jobs/1"}, {operatr, "/jobs/1/logs"}, {adam, "/snapshot"}, {operatr, "/jobs/77"}, {operatr, "/jobs/2/tasks"},
	} {
		s.do(http.MethodGet, v.path, "", as(v.token)...)
	}
	var got []string
	for _, r := range kept.list {
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
	s.do(http.MethodGet, "/audit/reads", "", as(operatr)...).into(&told)
	if len(told.Refusals) != len(kept.list) || told.Refusals[0].Code != core.CodeRead {
		t.Errorf("told are %+v", told)
	}
	s.do(http.MethodGet, "/audit/reads", "", as(ann)...).problem(http.StatusForbidden, "denied")
}

// Records that are not as they were written are named when a peer starts.
func TestRecordsAreCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var log bytes.Buffer
	s.api.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.api.Peer.Refusals, s.api.Peer.Reads = &refusals{bad: 7, what: "a record is missing, or was put in"}, &refusals{}
	admin.CheckRecords(t.Context(), s.api)
	if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "records=refusals first_bad=7") || strings.Contains(text, "records=reads") {
		t.Errorf("the log says %s", text)
	}
}
