package jobs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A job is held, released, started, extended and sent back by the API's verbs, and
// each says what came of it.
func TestControl(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	s.Submit(`{"command":"x","user":"ann","time_limit":"1h"}`).Into(&wire.Submitted{})
	var done wire.Done
	s.Do(http.MethodPost, "/queue/1/hold?note=later", "").Into(&done)
	if task := task(s, 1); done.Message != "held" || !task.Held {
		t.Errorf("held: %+v, %+v", done, task)
	}
	s.Do(http.MethodPost, "/queue/1/release", "").Into(&done)
	if task := task(s, 1); done.State != "queued" || task.Held {
		t.Errorf("released: %+v, %+v", done, task)
	}
	s.Do(http.MethodPost, "/queue/1/requeue", "").Problem(http.StatusConflict, "not_live")
	s.With(func(c *statetest.Cluster) { c.Start(c.Place(1)) })
	s.Do(http.MethodPost, "/queue/1/hold", "").Problem(http.StatusConflict, "not_queued")

	for _, v := range []struct {
		body string
		want time.Duration
	}{{`{"by":"30m"}`, 90 * time.Minute}, {`{"time_limit":7200}`, 2 * time.Hour}} {
		s.Do(http.MethodPost, "/queue/1/extend", v.body).Into(&done)
		if st := s.State(); st.Desired("n1").Ranks[0].Frozen.TimeLimit != v.want {
			t.Errorf("after %s the node is told %s", v.body, st.Desired("n1").Ranks[0].Frozen.TimeLimit)
		}
	}
	for range 2 { // sent again under its key it is the same change, and made once
		s.Do(http.MethodPost, "/queue/1/extend", `{"by":"1h"}`, wire.HeaderRequestID, "twice").Into(&done)
		if done.Message != "may run 3h0m0s" {
			t.Errorf("an hour more: %+v", done)
		}
	}
	s.Do(http.MethodPost, "/queue/1/extend", `{"time_limit":60}`).Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodPost, "/queue/1/extend", `{}`).About("time_limit")
	s.Do(http.MethodPost, "/queue/1/extend", `{"time_limit":60,"by":1}`).About("time_limit")
	s.Do(http.MethodPost, "/queue/9/extend", `{"by":1}`).Problem(http.StatusNotFound, wire.CodeNotFound)

	s.Do(http.MethodPost, "/queue/1/requeue?note=again", "").Into(&done)
	if a := attempt(s, 1); a.Stop != model.ReasonRequeue || a.StopNote != "again" || done.Message != "its processes are being stopped" {
		t.Errorf("requeued: %+v, %+v", done, a)
	}
	s.Do(http.MethodPost, "/queue/1/requeue?hold=true", "").Into(&done)
	if a := attempt(s, 1); !a.Hold {
		t.Errorf("requeued, to be held: %+v, %+v", done, a)
	}
	s.Submit(`{"command":"y"}`).Into(&wire.Submitted{})
	s.Do(http.MethodPost, "/queue/2/extend", `{"by":60}`).Problem(http.StatusConflict, "conflict")
	for _, bad := range []string{"/queue/x/hold", "/queue/77/hold"} {
		s.Do(http.MethodPost, bad, "").Problem(http.StatusNotFound, wire.CodeNotFound)
	}
}

// A running job shows how long it has run, and one that waits again also how long it has waited.
func TestHowLongAJobRunsAndWaits(t *testing.T) {
	s := apitest.New(t)
	var n1 *statetest.Agent
	s.With(func(c *statetest.Cluster) { n1 = c.Node("n1", 2) })
	s.Submit(`{"command":"x"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		c.Wait(time.Minute)
		c.Start(c.Place(1))
		c.Wait(5 * time.Minute)
	})
	d := s.Detail("/jobs/1")
	if ran := d.History[0].Ranks[0].RunSeconds; ran != 300 || d.RunSeconds != 300 || d.WaitSeconds != 60 {
		t.Errorf("its process has run %g s, it %g s, and has waited %g s", ran, d.RunSeconds, d.WaitSeconds)
	}
	s.Do(http.MethodPost, "/queue/1/requeue", "").Into(&wire.Done{})
	a := attempt(s, 1)
	s.With(func(c *statetest.Cluster) {
		c.Stopped(a.Key)
		c.Wait(10 * time.Minute)
	})
	if d := s.Detail("/jobs/1"); d.State != "queued" || d.WaitSeconds != 900 { // its node said that it had run for a minute
		t.Errorf("it is %s and has waited %g s", d.State, d.WaitSeconds)
	}
	s.Submit(`{"command":"y","gpu_count":2,"max_retries":0}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		n1.Clean()
		c.Start(c.Place(2))
	})
	s.ForecastTook(0)
	var q wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&q)
	if len(q.Queued) != 1 || q.Queued[0].Reason != "requeued; gpus" {
		t.Errorf("in the queue are %+v", q.Queued)
	}
}

func task(s *apitest.Site, id model.JobID) model.Task {
	st := s.State()
	task, _ := st.Tasks.Get(model.TaskKey{Job: id})
	return task
}

func attempt(s *apitest.Site, id model.JobID) model.Attempt {
	st := s.State()
	task := task(s, id)
	a, _ := st.Attempts.Get(task.Newest())
	return a
}

// The client of an attached job is heard; other jobs have none.
func TestAttach(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x","attached":"1m"}`).Into(&wire.Submitted{})
	s.Submit(`{"command":"x"}`).Into(&wire.Submitted{})
	s.Ahead.Store(int64(time.Minute))
	s.Do(http.MethodPost, "/jobs/1/attach", "").Into(&wire.Done{})
	s.Do(http.MethodPost, "/jobs/2/attach", "").Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodPost, "/jobs/3/attach", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	if first, second := s.API.Peer.Beats.Last(1), s.API.Peer.Beats.Last(2); first < time.Minute || second != 0 {
		t.Errorf("contact at %s and %s", first, second)
	}
}

// An operator takes nodes and GPUs out of service and back, and confirms a death.
func TestOperate(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	s.Submit(`{"command":"x","on_lost":"hold"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) { c.Start(c.Place(1)) })
	var done wire.NodeDone
	s.Do(http.MethodPut, "/gpus/n1-1/mode", `{"mode":"cordoned","reason":"fan"}`).Into(&done)
	if done.NodeID != "n1" || len(done.Jobs) != 0 {
		t.Errorf("cordoned %+v", done)
	}
	var nodes wire.Nodes
	s.Do(http.MethodGet, "/nodes", "").Into(&nodes)
	if g := nodes.Nodes[0].GPUs[1]; g.Mode != "cordoned" || g.ModeReason != "fan" || g.State != "cordoned" || nodes.Nodes[0].Epoch != 1 {
		t.Errorf("the node is %+v", nodes.Nodes[0])
	}
	s.Do(http.MethodPut, "/nodes/n1/mode", `{"mode":"draining"}`).Into(&done)
	if a := attempt(s, 1); a.Stop != model.ReasonDrain || !slices.Equal(done.Jobs, []string{"1"}) {
		t.Errorf("drained %+v, %+v", done, a)
	}
	s.Do(http.MethodPut, "/nodes/n1/mode", `{"mode":"gone"}`).About("mode")
	s.Do(http.MethodPut, "/nodes/n7/mode", `{"mode":"open"}`).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPut, "/gpus/x/mode", `{"mode":"open"}`).Problem(http.StatusNotFound, wire.CodeNotFound)

	s.Do(http.MethodPost, "/nodes/n1/confirm-dead", `{"reason":"burnt"}`).About("epoch")
	s.Do(http.MethodPost, "/nodes/n1/confirm-dead", `{"epoch":1}`).Problem(http.StatusConflict, "conflict")
	s.With(func(c *statetest.Cluster) { c.Do(&command.Suspect{Node: "n1", Epoch: 1}) })
	s.Do(http.MethodPost, "/nodes/n1/confirm-dead", `{"epoch":1,"reason":"burnt"}`).Into(&done)
	if task := task(s, 1); task.State != model.TaskQueued || attempt(s, 1).State != model.TaskCanceled ||
		!slices.Equal(done.Jobs, []string{"1"}) {
		t.Errorf("confirmed dead %+v: %+v", done, task)
	}
	s.Do(http.MethodDelete, "/nodes/n1", "").Into(&done)
	if st := s.State(); st.Nodes.Len() != 0 {
		t.Errorf("%d nodes are left", st.Nodes.Len())
	}
}

// What a job loses with an attempt, and which GPUs it had, stays to be seen.
func TestWhatAnAttemptLeaves(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	s.Submit(`{"command":"x","gpu_count":2,"user":"ann"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		a := c.Place(1)
		c.Start(a)
		c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Code: 1, Ran: time.Hour, Saved: 45 * time.Minute}})
	})
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&d)
	r := d.History[0].Ranks[0]
	if d.LostGPUHours != 0.5 || d.History[0].LostGPUHours != 0.5 || r.SavedAt != 2700 || len(r.GPUs) != 2 || r.GPUs[1].UUID != "n1-1" {
		t.Errorf("the job is %+v", d)
	}
}
