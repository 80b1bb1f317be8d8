package jobs_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/jobs"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// pastSite is a site with jobs that have ended and one that runs, at hours after the
// start: ann's job 1 of vision, 2 GPUs from 0 to 2; bob's job 2, 1 GPU from 1 to 3,
// failed; ann's job 3, an array that was canceled; ann's job 4, 4 GPUs from 3 on; now is 5.
func pastSite(t *testing.T) *apitest.Site {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		c.Node("n2", 4)
		of := func(user, project, name string) func(*command.Submit) {
			return func(b *command.Submit) {
				b.Spec.User, b.Spec.Project, b.Spec.Name, b.Spec.MaxRetries = user, project, name, 0
			}
		}
		one := c.Submit(2, of("ann", "vision", "train"))
		first := c.Place(one)
		c.Start(first)
		c.Wait(time.Hour)
		second := c.Place(c.Submit(1, of("bob", "", "test")))
		c.Start(second)
		c.Wait(time.Hour)
		c.Exit(first, 0)
		many := c.Submit(1, of("ann", "vision", "sweep"), func(b *command.Submit) { b.Tasks = 3 })
		c.Do(&command.Cancel{Job: many, Task: model.AllTasks})
		c.Wait(time.Hour)
		c.Report(model.Progress{
			Rank: second.Rank(0), Phase: model.RankExited,
			Exit: model.Exit{Code: 3, Ran: time.Minute, Watched: 7000, Idle: 1800},
		})
		c.Start(c.Place(c.Submit(4, of("ann", "", "train"))))
		c.Wait(2 * time.Hour)
	})
	now := s.State()
	kept := &apitest.Shelf{}
	for _, id := range []model.JobID{1, 2, 3} {
		for i, h := range now.Histories(id) {
			h.Events, h.Ranks = nil, nil
			kept.Ended = append(kept.Ended, archive.Ended{Key: archive.HistoryKey{Index: h.Job.EndIndex, Job: id, Part: uint32(i)}, Outline: h})
		}
	}
	slices.SortFunc(kept.Ended, func(a, b archive.Ended) int { return int(b.Key.Index) - int(a.Key.Index) })
	s.API.Peer.Archive = kept
	return s
}

func at(hours float64) string {
	return statetest.Start.Add(time.Duration(hours * float64(time.Hour))).Time().UTC().Format(time.RFC3339)
}

// Jobs that have ended are told newest first, by filters and pages.
func TestHistory(t *testing.T) {
	s := pastSite(t)
	var all wire.History
	s.Do(http.MethodGet, "/history", "").Into(&all)
	if len(all.Jobs) != 3 || all.Next != "" {
		t.Fatalf("%+v", all)
	}
	two, three, one := all.Jobs[0], all.Jobs[1], all.Jobs[2]
	if two.ID != "2" || two.State != "failed" || two.ExitCode == nil || *two.ExitCode != 3 || math.Abs(two.GPUHours-2) > 0.01 || two.Efficiency == nil ||
		*two.Efficiency != 99.2 || two.LostGPUHours != 0.0167 || two.IdleGPUHours != 0.5 { // its processes say that they ran for a minute
		t.Errorf("job 2 is %+v", two)
	}
	if three.ID != "3" || three.State != "canceled" || three.Array == nil || three.GPUHours != 0 || three.Efficiency != nil {
		t.Errorf("job 3 is %+v", three)
	}
	if one.ID != "1" || one.State != "completed" || math.Abs(one.GPUHours-4) > 0.01 || one.Efficiency == nil || *one.Efficiency != 100 ||
		one.RunSeconds != 60 {
		t.Errorf("job 1 is %+v", one)
	}
	for query, want := range map[string]string{
		"user=ann": "3 1", "project=vision": "3 1", "name=test": "2", "state=failed,canceled": "2 3", "user=bob&project=vision": "",
		"since=" + at(2.5): "2", "until=" + at(2.5): "3 1", "limit=1": "2",
	} {
		var got wire.History
		s.Do(http.MethodGet, "/history?"+query, "").Into(&got)
		var ids []string
		for _, j := range got.Jobs {
			ids = append(ids, j.ID)
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%s: %v, want %s", query, ids, want)
		}
	}
	var ids []string
	for next, more := "", true; more; more = next != "" {
		var page wire.History
		s.Do(http.MethodGet, "/history?limit=2&before="+next, "").Into(&page)
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		next = page.Next
	}
	if strings.Join(ids, " ") != "2 3 1" {
		t.Errorf("by pages: %v", ids)
	}
	s.Do(http.MethodGet, "/history?state=running", "").About("state")
	s.Do(http.MethodGet, "/history?before=x", "").About("before")
	kept, _ := s.API.Peer.Archive.(*apitest.Shelf)
	if now := s.State(); kept.UpTo != kept.Ended[0].Key.Index || kept.UpTo >= now.Index {
		t.Errorf("it waits for the archive up to %d, and the last job ended at %d", kept.UpTo, kept.Ended[0].Key.Index)
	}
	kept.Ended[1].Key.Index-- // its end stands elsewhere in the log by now
	s.Do(http.MethodGet, "/history", "").Into(&all)
	if len(all.Jobs) != 2 || all.Jobs[1].ID != "1" {
		t.Errorf("with the end of job 3 of another past: %+v", all.Jobs)
	}
}

// Use is what of each attempt's time lies within the span, of jobs that run as well.
func TestUsage(t *testing.T) {
	s := pastSite(t)
	get := func(query string) (u wire.Usage) {
		s.Do(http.MethodGet, "/usage?"+query, "").Into(&u)
		return u
	}
	is := func(what string, r wire.UsageRow, gpuHours float64, jobs, failed, canceled int64) {
		t.Helper()
		if math.Abs(r.GPUHours-gpuHours) > 0.02 || r.Jobs != jobs || r.Failed != failed || r.Canceled != canceled {
			t.Errorf("%s: %+v", what, r)
		}
	}
	u := get("")
	if len(u.Rows) != 2 || u.Rows[0].User != "ann" || u.Rows[1].User != "bob" || u.GPUs != 8 {
		t.Fatalf("%+v", u)
	}
	is("ann", u.Rows[0], 2*2+4*2, 2, 0, 1)
	is("bob", u.Rows[1], 2, 1, 1, 0)
	is("all", u.Total, 14, 3, 1, 1)
	if ann, bob := u.Rows[0], u.Rows[1]; ann.GPUs != 4 || bob.GPUs != 0 || math.Abs(ann.Share-85.7) > 0.2 || bob.LostHours != 0.0167 ||
		bob.WaitMedian == nil {
		t.Errorf("%+v", u.Rows)
	}
	if bob := u.Rows[1]; bob.Measured != 1.9444 || bob.Idle != 0.5 || u.Total.Idle != 0.5 || u.Rows[0].Measured != 0 {
		t.Errorf("what was measured: %+v", u.Rows)
	}
	if half := get("until=" + at(2)); half.Total.Idle != 0.25 || half.Total.Measured != 0.9722 {
		t.Errorf("half of what was measured: %+v", half.Total)
	}
	u = get("by=project,name&since=" + at(1) + "&until=" + at(4))
	if len(u.Rows) != 4 || u.Rows[0].Project != "" || u.Rows[0].Name != "train" || u.Rows[0].User != "" {
		t.Fatalf("%+v", u)
	}
	is("train", u.Rows[0], 4, 0, 0, 0)
	is("test, before vision's train as names go", u.Rows[1], 2, 1, 1, 0)
	is("vision's train", u.Rows[2], 2, 1, 0, 0)
	if math.Abs(u.Total.OfCluster-33.3) > 0.2 {
		t.Errorf("of 24 GPU-hours %+v were used", u.Total)
	}
	if u = get("user=bob"); len(u.Rows) != 1 || u.Total.Share != 100 {
		t.Errorf("bob's alone: %+v", u)
	}
	s.Do(http.MethodGet, "/usage?by=user,user", "").About("by")
	s.Do(http.MethodGet, "/usage?by=cat", "").About("by")
	s.Do(http.MethodGet, "/usage?since="+at(2)+"&until="+at(1), "").About("since")
	kept, _ := s.API.Peer.Archive.(*apitest.Shelf)
	kept.Fail = jobs.ErrTooMuch
	if p := s.Do(http.MethodGet, "/usage", "").Problem(http.StatusUnprocessableEntity, wire.CodeInvalid); !strings.Contains(p.Detail, "shorter") {
		t.Errorf("too much is refused with %q", p.Detail)
	}
}
