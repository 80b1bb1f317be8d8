package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestAnyRequest asks what the description allows, and worse: every answer is one that
// the description knows, none is a defect's, or another than the peer's own trouble allows,
// the state stays sound, and what was acknowledged is there.
func TestAnyRequest(t *testing.T) {
	// these cannot be accepted here: they need keys of a cluster, an agent, a machine that joins, a browser, an identity provider, a simulated
	// cluster, or an empty one
	reached := map[string]bool{
		"GET /cluster/backup": true, "DELETE /nodes/{node_id}": true, "GET /jobs/{job_id}/logs": true, "GET /jobs/{job_id}/steps": true, "GET /nodes/{node_id}/gpus/history": true, "POST /gpu/initialize": true, "POST /cluster/join": true, "POST /cluster/standing": true, "DELETE /session": true,
		"GET /oidc": true, "POST /oidc/device": true, "POST /oidc/token": true,
		"POST /snapshot/import": true, "POST /snapshot/import/end": true, "POST /snapshot/import/jobs": true, "POST /snapshot/import/settings": true,
	}
	const seeds = 4
	for seed := range uint64(seeds) {
		tries := 0
		if seed == seeds-1 {
			tries = 2000
		}
		anyRequests(t, rand.New(rand.NewPCG(seed, 2)), 4000, tries, reached)
	}
	all, _ := apitest.Operations(apitest.NewGuarded(t))
	for i := range all {
		if route := all[i].Method + " " + all[i].Path; !reached[route] {
			t.Errorf("no request to %s was accepted: its definition may need an example of a body (core.Example)", route)
		}
	}
}

// FuzzAnyRequest is TestAnyRequest for ever.
func FuzzAnyRequest(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		anyRequests(t, rand.New(rand.NewPCG(a, b)), 200, 0, map[string]bool{})
	})
}

// upset has a peer fail at every twentieth request as one does whose disk is full, whose
// state differs, or that has fallen behind, and says with which code; empty: it is well.
func upset(s *apitest.Site, i int) (code string) {
	s.With(func(*statetest.Cluster) {
		s.Fail, s.Behind = nil, nil
		switch i % 60 {
		case 19:
			code = wire.CodeNoSpace
			s.Fail = &problem.Fault{Code: code, Err: errors.New("full")}
		case 39:
			code = wire.CodeDiverged
			s.Fail = &problem.Fault{Code: code, Err: errors.New("another state")}
		case 59:
			code = wire.CodeBehind
			s.Behind = &problem.Fault{Code: code, Err: errors.New("far behind")}
		}
	})
	return code
}

// due says that an answer from 500 on is the one that the documentation has for how the
// peer is, or for a node that cannot be reached, without an agent here.
func due(d *apitest.Operation, w *httptest.ResponseRecorder, trouble string) bool {
	want, status := trouble, http.StatusServiceUnavailable
	if trouble == wire.CodeNoSpace {
		status = http.StatusInsufficientStorage
	}
	if w.Code == http.StatusBadGateway {
		want, status = wire.CodeUnreachable, http.StatusBadGateway
		if d.Path != "/nodes/{node_id}/gpus/history" && d.Path != "/jobs/{job_id}/logs" {
			return false
		}
	}
	return want != "" && w.Code == status && w.Header().Get(wire.HeaderCode) == want
}

// anyRequests sends n requests to any routes, and then, to each route that has accepted none so far, at
// most as many more as tries says, until one is accepted. Each of these follows one that may make what it deletes.
func anyRequests(t *testing.T, random *rand.Rand, n, tries int, reached map[string]bool) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Node("n2", 8)
		c.Node("n3", 1).Suspect() // only the death of such a node can be confirmed
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
		c.Submit(2)
		c.Start(c.Place(1))
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", Level: command.Level}})
	})
	s.API.Peer.Archive, s.API.Peer.Refusals, s.API.Peer.Reads = &apitest.Shelf{}, &apitest.Refusals{}, &apitest.Refusals{}
	s.API.Config.Authority, _, _ = apitest.NewKeyring(t, s.Peer)
	v := newInventor(s, random)
	var known []model.JobID
	send := func(i int, d *apitest.Operation) {
		reached[d.Method+" "+d.Path] = v.send(t, s, i, d, &known) || reached[d.Method+" "+d.Path]
	}
	for i := range n {
		send(i, v.route())
	}
	for i := range v.routes {
		d := &v.routes[i]
		maker := slices.IndexFunc(v.routes, func(m apitest.Operation) bool {
			return m.Method == http.MethodPost && (d.Method == http.MethodDelete && (m.Path == d.Path || m.Path == path.Dir(d.Path)) ||
				strings.HasSuffix(d.Path, "-release") && m.Path == strings.TrimSuffix(d.Path, "release")+"allocate")
		})
		for k := 0; k < tries && !reached[d.Method+" "+d.Path]; k++ {
			if maker >= 0 {
				send(k, &v.routes[maker])
			}
			send(k, d)
		}
	}
	now := s.State()
	if err := check.State(&now); err != nil {
		t.Fatal(err)
	}
	for _, id := range known {
		if !now.Jobs.Has(id) {
			t.Errorf("job %s was acknowledged and is not there", id)
		}
	}
}

// send makes up a request to a route and reports whether it was accepted, with the job that it
// submitted in known.
func (v *inventor) send(t *testing.T, s *apitest.Site, i int, d *apitest.Operation, known *[]model.JobID) (accepted bool) {
	trouble := upset(s, i)
	r := v.request(t, d)
	sent := fmt.Sprintf("%s %s", r.Method, r.URL)
	w := httptest.NewRecorder()
	s.API.ServeHTTP(w, r)
	switch {
	case w.Code >= http.StatusInternalServerError && !due(d, w, trouble):
		t.Fatalf("%s is answered %d (trouble: %q): %s", sent, w.Code, trouble, w.Body)
	case w.Code >= http.StatusBadRequest:
		var p wire.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Code == "" || p.Title == "" {
			t.Fatalf("%s is answered %d with no problem: %s", sent, w.Code, w.Body)
		}
		return false
	}
	var answer any
	if json.Unmarshal(w.Body.Bytes(), &answer) == nil {
		v.hear(answer)
	}
	var done wire.Submitted
	if d.Path == "/queue/submit" && json.Unmarshal(w.Body.Bytes(), &done) == nil && done.JobID != "" {
		id, err := intake.JobID(done.JobID)
		if err != nil {
			t.Fatal(err)
		}
		*known = append(*known, id)
	}
	return true
}
