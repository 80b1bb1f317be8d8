package admin_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The trail is told by filters and pages, in the API's words.
func TestAudit(t *testing.T) {
	s := apitest.New(t)
	c, err := command.New("user:ann", &command.AdjustLimit{
		Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, Set: []model.LimitValue{{Of: model.LimitGPUs, Value: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	kept := &apitest.Shelf{
		Found: archive.Found{Next: 7, Records: []model.AuditRecord{{
			Seq: 8, Index: 20, At: model.TimeOf(at), By: "p2", Actor: "user:ann", From: "192.0.2.7", Kind: uint16(command.KindAdjustLimit),
			Target: "user bob", Request: "r1", Body: c.Shown(), Code: model.CodeDenied, Detail: "no",
		}}},
		Stand: archive.Standing{CompleteTo: 21, Lost: 3},
		Said:  archive.Verdict{Records: 5, Bad: 4, What: "it differs"},
	}
	s.API.Peer.Archive = kept
	var page wire.Audit
	s.Do(http.MethodGet, "/audit?actor=ann&target=user%20bob&action=adjust_limit&result=refused&since=2026-11-01T00:00:00Z&before=9&limit=1", "").Into(&page)
	if f := kept.Asked; f.Actor != "ann" || f.Target != "user bob" || f.Kind != "adjust_limit" || f.Result != "refused" || f.Before != 9 ||
		f.Limit != 1 || f.Since != model.TimeOf(at.Add(-12*time.Hour)) || f.Until != 0 {
		t.Errorf("the archive was asked for %+v", f)
	}
	r := page.Records[0]
	if len(page.Records) != 1 || page.Next != 7 || page.CompleteTo != 21 || page.Lost != 3 || page.Failing || r.Seq != 8 || r.Index != 20 ||
		!r.Time.Equal(at) || r.Action != "adjust_limit" || r.From != "192.0.2.7" || r.Result != "denied" || r.Detail != "no" || r.ByPeer != "p2" {
		t.Errorf("the page is %+v", page)
	}
	if scope, is := r.What["scope"].(map[string]any); !is || scope["name"] != "bob" {
		t.Errorf("what was asked for is told as %v", r.What)
	}
	var verdict wire.AuditVerdict
	s.Do(http.MethodGet, "/audit/verify", "").Into(&verdict)
	if verdict.OK || verdict.FirstBad != 4 || verdict.Records != 5 || verdict.What != "it differs" || verdict.Peer != "p1" || len(verdict.Head.Hash) != 64 {
		t.Errorf("the verdict is %+v", verdict)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "since=yesterday", "before=-1", "nonsense=1"} {
		if r := s.Do(http.MethodGet, "/audit?"+bad, ""); r.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s is answered %d", bad, r.Status)
		}
	}
	kept.Fail = errors.New("the file is broken")
	for _, path := range []string{"/audit", "/audit/verify"} {
		s.Do(http.MethodGet, path, "").Problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
	}
}

// A job that has left the state is told of from the archive.
func TestAJobFromTheArchive(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "fails", "user": "ann"}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		a := c.Place(1)
		c.Start(a)
		c.Exit(a, 3)
	})
	var live, past wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&live)
	now := s.State()
	kept := &apitest.Shelf{Gone: state.Recall(now.Histories(1)...)}
	s.API.Peer.Archive = kept
	s.With(func(c *statetest.Cluster) {
		c.State.Jobs, c.State.Tasks = state.State{}.Jobs, state.State{}.Tasks // as if it had been retired
	})
	s.Do(http.MethodGet, "/jobs/1", "").Into(&past)
	if !past.Archived || past.State != "failed" || past.User != "ann" || len(past.Timeline) != len(live.Timeline) || len(past.History) != 1 ||
		past.ExitCode == nil || *past.ExitCode != 3 {
		t.Errorf("the job is %+v, was %+v", past, live)
	}
	s.Do(http.MethodGet, "/jobs/2", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/1?task=5", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}

// Of a job that is not there a peer says so only if its archive holds all that has left
// the queue; a number that no job has had needs no archive.
func TestAJobThatTheArchiveMayLack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kept   apitest.Shelf
		gone   uint64 // log index up to which jobs have left the state
		status int
		code   string
	}{
		{"complete", apitest.Shelf{Stand: archive.Standing{CompleteTo: 9}}, 9, http.StatusNotFound, wire.CodeNotFound},
		{"not opened yet", apitest.Shelf{Fail: archive.ErrUnavailable}, 0, http.StatusServiceUnavailable, wire.CodeBehind},
		{"incomplete", apitest.Shelf{Stand: archive.Standing{CompleteTo: 8}}, 9, http.StatusServiceUnavailable, wire.CodeBehind},
		{"broken", apitest.Shelf{Fail: errors.New("damaged")}, 9, http.StatusServiceUnavailable, wire.CodeNoArchive},
		{
			"cannot be opened",
			apitest.Shelf{Fail: archive.ErrUnavailable, Stand: archive.Standing{Failure: "no folder"}},
			0,
			http.StatusServiceUnavailable, wire.CodeNoArchive,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t)
			s.Submit(`{"command": "x"}`).Into(new(wire.Submitted))
			s.With(func(cl *statetest.Cluster) {
				cl.State.Jobs, cl.State.Tasks = state.State{}.Jobs, state.State{}.Tasks
				globals := cl.State.Settings()
				globals.ArchivedTo = c.gone
				draft := cl.State.Globals.Fork()
				draft.Put(state.Only{}, globals)
				cl.State.Globals = draft.Table()
			})
			s.API.Peer.Archive = &c.kept
			s.Do(http.MethodGet, "/jobs/1", "").Problem(c.status, c.code)
			s.Do(http.MethodGet, "/jobs/2", "").Problem(http.StatusNotFound, wire.CodeNotFound)
			if c.kept.UpTo == 0 && c.kept.Stand.Failure == "" {
				t.Error("the archive was not waited for")
			}
		})
	}
}

// What a handler refuses by itself is kept, and what the log tells of is not.
func TestRefusalsAreKept(t *testing.T) {
	peer := apitest.NewPeer(t)
	kept, parts := &apitest.Refusals{}, apitest.Parts(t, peer, apitest.NewWire(t, "p1"))
	parts.Refusals = kept
	api := apitest.NewAPI(core.Config{
		Self: "p1", Now: peer.Now, Peer: parts,
		Own: []string{"example.com:80"},
	})
	ask := func(method, path, body, from string) {
		r := httptest.NewRequest(method, path, nil)
		if body != "" {
			r = httptest.NewRequest(method, path, strings.NewReader(body))
		}
		r.RemoteAddr = from
		api.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask(http.MethodPost, "/queue/submit", `{"command": "x", "gpus": "many"}`, "192.0.2.7:4000")
	ask(http.MethodPut, "/orchestrator/policy", `{"policy": "by-colour"}`, "[2001:db8::1]:4000")
	ask(http.MethodDelete, "/queue/99", "", "192.0.2.7:4000") // refused by the state: in the log
	ask(http.MethodGet, "/jobs/99", "", "192.0.2.7:4000")     // asks for no change
	if len(kept.List) != 2 {
		t.Fatalf("kept are %+v", kept.List)
	}
	if r := kept.List[0]; r.From != "192.0.2.7" || r.Method != http.MethodPost || r.Path != "/queue/submit" || r.Status != 422 ||
		r.Code != wire.CodeInvalid || r.Request == "" || r.Time.IsZero() {
		t.Errorf("the first is %+v", r)
	}
	if r := kept.List[1]; r.From != "2001:db8::1" || r.Path != "/orchestrator/policy" {
		t.Errorf("the second is %+v", r)
	}
}

// What this peer has refused before the log is told, and that no other's is.
func TestRefusalsAreTold(t *testing.T) {
	s := apitest.New(t)
	at := time.Unix(1000, 0).UTC()
	kept := &apitest.Refusals{List: []archive.Refusal{
		{Time: at, From: "192.0.2.7", Actor: "user:bob", Method: "POST", Path: "/queue/submit", Request: "k", Status: 422, Code: "invalid", Dropped: 3},
	}}
	s.API.Peer.Refusals = kept
	var got wire.Refusals
	s.Do(http.MethodGet, "/audit/refusals?actor=bob&code=invalid&since=1970-01-01T00:00:01Z&until=1970-01-02T00:00:00Z&before=77&limit=1", "").Into(&got)
	if want := (archive.RefusalFilter{
		Actor: "bob", Code: "invalid", Since: time.Unix(1, 0).UTC(), Until: time.Unix(86400, 0).UTC(), Before: 77,
		Limit: 1,
	}); kept.Asked != want {
		t.Errorf("asked is %+v", kept.Asked)
	}
	if len(got.Refusals) != 1 || got.Refusals[0] != wire.Refusal(kept.List[0]) || got.Peer != "p1" || got.Next != 12 {
		t.Errorf("told is %+v", got)
	}
	kept.Fail = errors.New("the file is broken")
	s.Do(http.MethodGet, "/audit/refusals", "").Problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
}
