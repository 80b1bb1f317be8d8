package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// shelf is an archive that holds what a test puts there.
type shelf struct {
	asked archive.Filter
	found archive.Found
	said  archive.Verdict
	stand archive.Standing
	past  state.State
	ended []archive.Ended // newest first
	upTo  uint64          // that was waited for
	fail  error
}

func (s *shelf) Find(f archive.Filter) (archive.Found, error) {
	s.asked = f
	return s.found, s.fail
}

func (s *shelf) Verify(context.Context, model.AuditHead) (archive.Verdict, error) {
	return s.said, s.fail
}

func (s *shelf) Past(id model.JobID, _ uint32) (state.State, bool, error) {
	return s.past, s.past.Jobs.Has(id), s.fail
}

func (s *shelf) Ends(_ context.Context, before archive.HistoryKey, look func(archive.Ended) bool) error {
	for _, e := range s.ended {
		if k := e.Key; (k.Index < before.Index || k.Index == before.Index && k.Job < before.Job) && !look(e) {
			break
		}
	}
	return s.fail
}

func (s *shelf) Reach(_ context.Context, index uint64, _ time.Duration) bool {
	s.upTo = index
	return true
}

func (*shelf) Copy(func(int64, io.Reader) error) error { return archive.ErrUnavailable }

func (s *shelf) Standing() archive.Standing { return s.stand }

// The trail is told by filters and pages, in the API's words.
func TestAudit(t *testing.T) {
	s := newSite(t)
	s.do(http.MethodGet, "/audit", "").problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
	c, err := command.New("user:ann", &command.AdjustLimit{
		Scope: model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, Set: []model.LimitValue{{Of: model.LimitGPUs, Value: 4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	kept := &shelf{
		found: archive.Found{Next: 7, Records: []model.AuditRecord{{
			Seq: 8, Index: 20, At: model.TimeOf(at), By: "p2", Actor: "user:ann", From: "192.0.2.7", Kind: uint16(command.KindAdjustLimit),
			Target: "user bob", Request: "r1", Body: c.Shown(), Code: model.CodeDenied, Detail: "no",
		}}},
		stand: archive.Standing{CompleteTo: 21, Lost: 3},
		said:  archive.Verdict{Records: 5, Bad: 4, What: "it differs"},
	}
	s.api.Peer.Archive = kept
	var page wire.Audit
	s.do(http.MethodGet, "/audit?actor=ann&target=user%20bob&action=adjust_limit&result=refused&since=2026-11-01T00:00:00Z&before=9&limit=1", "").into(&page)
	if f := kept.asked; f.Actor != "ann" || f.Target != "user bob" || f.Kind != "adjust_limit" || f.Result != "refused" || f.Before != 9 ||
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
	s.do(http.MethodGet, "/audit/verify", "").into(&verdict)
	if verdict.OK || verdict.FirstBad != 4 || verdict.Records != 5 || verdict.What != "it differs" || verdict.Peer != "p1" || len(verdict.Head.Hash) != 64 {
		t.Errorf("the verdict is %+v", verdict)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "since=yesterday", "before=-1", "nonsense=1"} {
		if r := s.do(http.MethodGet, "/audit?"+bad, ""); r.status != http.StatusUnprocessableEntity {
			t.Errorf("%s is answered %d", bad, r.status)
		}
	}
	kept.fail = errors.New("the file is broken")
	for _, path := range []string{"/audit", "/audit/verify"} {
		s.do(http.MethodGet, path, "").problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
	}
}

// A job that has left the state is told of from the archive.
func TestAJobFromTheArchive(t *testing.T) {
	s := newSite(t)
	s.submit(`{"command": "fails", "user": "ann"}`).into(new(wire.Submitted))
	s.with(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		a := c.Place(1)
		c.Start(a)
		c.Exit(a, 3)
	})
	var live, past wire.Detail
	s.do(http.MethodGet, "/jobs/1", "").into(&live)
	now := s.State()
	kept := &shelf{past: state.Recall(now.Histories(1)...)}
	s.api.Peer.Archive = kept
	s.with(func(c *statetest.Cluster) {
		c.State.Jobs, c.State.Tasks = state.State{}.Jobs, state.State{}.Tasks // as if it had been retired
	})
	s.do(http.MethodGet, "/jobs/1", "").into(&past)
	if !past.Archived || past.State != "failed" || past.User != "ann" || len(past.Timeline) != len(live.Timeline) || len(past.History) != 1 ||
		past.ExitCode == nil || *past.ExitCode != 3 {
		t.Errorf("the job is %+v, was %+v", past, live)
	}
	s.do(http.MethodGet, "/jobs/2", "").problem(http.StatusNotFound, wire.CodeNotFound)
	s.do(http.MethodGet, "/jobs/1?task=5", "").problem(http.StatusNotFound, wire.CodeNotFound)
}

// Of a job that is not there a peer says so only if its archive holds all that has left
// the queue; a number that no job has had needs no archive.
func TestAJobThatTheArchiveMayLack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kept   shelf
		gone   uint64 // log index up to which jobs have left the state
		status int
		code   string
	}{
		{"complete", shelf{stand: archive.Standing{CompleteTo: 9}}, 9, http.StatusNotFound, wire.CodeNotFound},
		{"not opened yet", shelf{fail: archive.ErrUnavailable}, 0, http.StatusServiceUnavailable, wire.CodeBehind},
		{"incomplete", shelf{stand: archive.Standing{CompleteTo: 8}}, 9, http.StatusServiceUnavailable, wire.CodeBehind},
		{"broken", shelf{fail: errors.New("damaged")}, 9, http.StatusServiceUnavailable, wire.CodeNoArchive},
		{
			"cannot be opened",
			shelf{fail: archive.ErrUnavailable, stand: archive.Standing{Failure: "no folder"}},
			0,
			http.StatusServiceUnavailable, wire.CodeNoArchive,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.submit(`{"command": "x"}`).into(new(wire.Submitted))
			s.with(func(cl *statetest.Cluster) {
				cl.State.Jobs, cl.State.Tasks = state.State{}.Jobs, state.State{}.Tasks
				globals := cl.State.Settings()
				globals.ArchivedTo = c.gone
				draft := cl.State.Globals.Fork()
				draft.Put(state.Only{}, globals)
				cl.State.Globals = draft.Table()
			})
			s.api.Peer.Archive = &c.kept
			s.do(http.MethodGet, "/jobs/1", "").problem(c.status, c.code)
			s.do(http.MethodGet, "/jobs/2", "").problem(http.StatusNotFound, wire.CodeNotFound)
			if c.kept.upTo == 0 && c.kept.stand.Failure == "" {
				t.Error("the archive was not waited for")
			}
		})
	}
}

// refusals keeps refusals in memory.
type refusals struct {
	mu    sync.Mutex
	list  []archive.Refusal
	asked archive.RefusalFilter
	fail  error
	bad   uint64 // what Verify finds
	what  string
}

func (r *refusals) Find(_ context.Context, f archive.RefusalFilter) ([]archive.Refusal, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = f
	return r.list, 12, r.fail
}

func (r *refusals) Verify(context.Context) (archive.RefusalsVerdict, error) {
	return archive.RefusalsVerdict{Records: uint64(len(r.list)), Bad: r.bad, What: r.what}, r.fail
}

func (r *refusals) Refused(one archive.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

// What a handler refuses by itself is kept, and what the log tells of is not.
func TestRefusalsAreKept(t *testing.T) {
	peer := newOne(t)
	kept := &refusals{}
	api := New(core.Config{Self: "p1", Now: peer.now, Peer: core.Peer{Proposer: peer, Reader: peer, Members: peer, Refusals: kept}, Own: []string{"example.com:80"}})
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
	if len(kept.list) != 2 {
		t.Fatalf("kept are %+v", kept.list)
	}
	if r := kept.list[0]; r.From != "192.0.2.7" || r.Method != http.MethodPost || r.Path != "/queue/submit" || r.Status != 422 ||
		r.Code != wire.CodeInvalid || r.Request == "" || r.Time.IsZero() {
		t.Errorf("the first is %+v", r)
	}
	if r := kept.list[1]; r.From != "2001:db8::1" || r.Path != "/orchestrator/policy" {
		t.Errorf("the second is %+v", r)
	}
}

// What this peer has refused before the log is told, and that no other's is.
func TestRefusalsAreTold(t *testing.T) {
	s := newSite(t)
	s.do(http.MethodGet, "/audit/refusals", "").problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
	at := time.Unix(1000, 0).UTC()
	kept := &refusals{list: []archive.Refusal{
		{Time: at, From: "192.0.2.7", Actor: "user:bob", Method: "POST", Path: "/queue/submit", Request: "k", Status: 422, Code: "invalid", Dropped: 3},
	}}
	s.api.Peer.Refusals = kept
	var got wire.Refusals
	s.do(http.MethodGet, "/audit/refusals?actor=bob&code=invalid&since=1970-01-01T00:00:01Z&until=1970-01-02T00:00:00Z&before=77&limit=1", "").into(&got)
	if want := (archive.RefusalFilter{Actor: "bob", Code: "invalid", Since: time.Unix(1, 0).UTC(), Until: time.Unix(86400, 0).UTC(), Before: 77, Limit: 1}); kept.asked != want {
		t.Errorf("asked is %+v", kept.asked)
	}
	if len(got.Refusals) != 1 || got.Refusals[0] != wire.Refusal(kept.list[0]) || got.Peer != "p1" || got.Next != 12 {
		t.Errorf("told is %+v", got)
	}
	kept.fail = errors.New("the file is broken")
	s.do(http.MethodGet, "/audit/refusals", "").problem(http.StatusServiceUnavailable, wire.CodeNoArchive)
}
