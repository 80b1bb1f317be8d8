package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// agentPaths are what agents post to.
func agentPaths() []string {
	return []string{
		agentwire.PathRegister, agentwire.PathRenew, agentwire.PathDesired, agentwire.PathReport, agentwire.PathInventory, agentwire.PathBlob,
		agentwire.PathTail, agentwire.PathSilence,
	}
}

// loud ends what goes wrong in a cluster by a panic: what a fuzz target has begun with is
// not to be spoken to later.
type loud struct{}

func (loud) Helper() {}

func (loud) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// staffed is a site with a node that runs a job, and what its agent may say there.
func staffed(f *testing.F) (*apitest.Site, []any) {
	s := apitest.New(f)
	var n *statetest.Agent
	var rank model.RankKey
	s.With(func(c *statetest.Cluster) {
		*c = *statetest.New(loud{})
		c.Unchecked, c.Told = true, s.Feed.Put
		n = c.Node("n1", 4)
		c.Submit(1)
		c.Submit(2)
		a := c.Place(1)
		c.Start(a)
		rank = a.Rank(0)
	})
	now := s.State()
	in, epoch := now.Settings().Incarnation, n.Epoch()
	device := model.Device{ID: "GPU-1", Model: "H100", MemoryMB: 81559, Health: model.HealthHealthy, Idle: true}
	exited := model.Progress{Rank: rank, Phase: model.RankExited, Exit: model.Exit{Ran: time.Hour, PeakMB: 9}}
	return s, []any{
		&agentwire.Register{Node: "n2", Machine: "m", Boot: "b", Lineage: "l", Session: "s", Address: "127.0.0.1:1", Devices: []model.Device{device}},
		&agentwire.Renew{Node: "n1", Incarnation: in, Epoch: epoch, Seq: 9, Samples: []model.Sample{{GPU: "GPU-1", Utilization: 60}}},
		&agentwire.Poll{Node: "n1"},
		&agentwire.Report{Node: "n1", Incarnation: in, Epoch: epoch, Reports: []model.Progress{exited}},
		&agentwire.Inventory{Node: "n1", Incarnation: in, Epoch: epoch, Devices: []model.Device{device}},
		&agentwire.Fetch{},
		&agentwire.Tail{Node: "n1", Rank: rank, Stdout: []byte("x")},
		&struct{}{},
		&struct{}{},
	}
}

// FuzzAgents: whatever an agent sends, it is told what is wrong with it or is answered,
// nothing is a defect's answer, and the state stays sound.
func FuzzAgents(f *testing.F) {
	s, says := staffed(f)
	for i, v := range says {
		data, err := agentwire.Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(i), data)
	}
	begin := *s.Cluster
	f.Fuzz(func(t *testing.T, which uint, body []byte) {
		s.With(func(c *statetest.Cluster) { *c = begin }) // a state is a value
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel() // a poll waits no longer
		path := agentPaths()[which%uint(len(agentPaths()))]
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, r)
		var p wire.Problem
		switch {
		case w.Code >= http.StatusInternalServerError:
			t.Fatalf("%s is answered %d: %s", path, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Code == "" || p.Status != w.Code):
			t.Fatalf("%s is answered %d with no problem: %s", path, w.Code, w.Body)
		}
		now := s.State()
		if err := check.State(&now); err != nil {
			t.Fatal(err)
		}
		if now.Index > begin.State.Index {
			if err := check.Move(&begin.State, &now); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzImport: no bytes are an answer that is none, and none change a cluster but by
// whole parts.
func FuzzImport(f *testing.F) {
	f.Add("/jobs", `{"import_id": "`+apitest.ImportName+`", "part": 0, "jobs": [{"id": "1", "request": {"command": "x"}}]}`)
	f.Add("/jobs", `{"import_id": "`+apitest.ImportName+`", "part": 0, "queuedJobs": [{"id": "1", "command": "x", "priority": 3}]}`)
	f.Add("/settings", `{"import_id": "`+apitest.ImportName+`", "settings": {"users": [{"name": "ann", "role": "user"}], "quotas": [{"scope": "cluster", "limits": {"gpus": 3}}]}}`)
	f.Add("/settings", `{"import_id": "`+apitest.ImportName+`", "settings": {"services": [{"id": "web-1", "user": "ann", "request": {"service_name": "web", "ttl": "2h"}}]}}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		if path != "/jobs" && path != "/settings" {
			return
		}
		s := apitest.New(t)
		s.Do(http.MethodPost, "/snapshot/import", `{"import_id": "`+apitest.ImportName+`", "parts": 1}`)
		if got := s.Do(http.MethodPost, "/snapshot/import"+path, body); got.Status >= http.StatusInternalServerError {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		after := s.State()
		if err := check.State(&after); err != nil {
			t.Fatal(err)
		}
	})
}
