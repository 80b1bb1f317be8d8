package jobs_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A job that has ended shows where it ran last, and so does each task of an array.
func TestWhereAJobRanLast(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var alone, waits, array string
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 3)
		a := c.Place(c.Submit(2))
		c.Start(a)
		alone = a.Job.String()
		c.Exit(a, 3)
		tasks := c.Submit(1, func(b *command.Submit) { b.Tasks = 2 })
		b := c.Place(tasks)
		c.Start(b)
		c.Exit(b, 0)
		array, waits = tasks.String(), c.Submit(1).String()
	})
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/"+alone, "").Into(&d)
	if d.Last == nil || !slices.Equal(d.Last.Nodes, []string{"n1"}) || !d.Last.StartedAt.Equal(d.StartedAt) || d.Last.OutOfMemory {
		t.Errorf("%+v", d.Last)
	}
	d = wire.Detail{}
	if s.Do(http.MethodGet, "/jobs/"+waits, "").Into(&d); d.Last != nil {
		t.Errorf("of a job that waits: %+v", d.Last)
	}
	var list wire.Tasks
	s.Do(http.MethodGet, "/jobs/"+array+"/tasks", "").Into(&list)
	if len(list.Tasks) != 2 || list.Tasks[0].Last == nil || !slices.Equal(list.Tasks[0].Last.Nodes, []string{"n1"}) || list.Tasks[1].Last != nil {
		t.Errorf("%+v", list)
	}
}

// parted is an archive that returns the parts of one job: the first one, and that of a task.
type parted struct {
	apitest.Shelf

	parts []state.History
}

func (p *parted) Past(_ model.JobID, task uint32) (state.State, bool, error) {
	for _, h := range p.parts {
		if h.Tasks[len(h.Tasks)-1].Key.Task >= task {
			return state.Recall(p.parts[0], h), true, nil
		}
	}
	return state.Recall(p.parts[0]), true, nil
}

// The tasks of an array that has left the state come from the archive, over its parts, page by page.
func TestTasksFromTheArchive(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const size = state.HistoryTasks + 5
	s.With(func(c *statetest.Cluster) {
		many := c.Submit(1, func(b *command.Submit) { b.Tasks = size })
		c.Do(&command.Cancel{Job: many, Task: model.AllTasks})
	})
	now := s.State()
	kept := &parted{parts: now.Histories(1)}
	if len(kept.parts) != 2 {
		t.Fatalf("%d parts", len(kept.parts))
	}
	s.API.Peer.Archive = kept
	s.With(func(c *statetest.Cluster) {
		c.State.Jobs, c.State.Tasks = state.State{}.Jobs, state.State{}.Tasks // as if it had been retired
	})
	for _, query := range []string{"?", "?state=canceled&", "?limit=700&", "?limit=1000&"} {
		var got []int64
		for after := ""; ; {
			var page wire.Tasks
			s.Do(http.MethodGet, "/jobs/1/tasks"+query+after, "").Into(&page)
			for _, v := range page.Tasks {
				got = append(got, v.Index)
			}
			if page.Next == "" {
				break
			}
			after = "after=" + page.Next
		}
		if len(got) != size || got[0] != 0 || got[size-1] != size-1 || !slices.IsSorted(got) {
			t.Errorf("%s: %d tasks", query, len(got))
		}
	}
	var none wire.Tasks
	if s.Do(http.MethodGet, "/jobs/1/tasks?state=running", "").Into(&none); len(none.Tasks) != 0 || none.Next != "" {
		t.Errorf("%+v", none)
	}
	s.Do(http.MethodGet, "/jobs/9/tasks", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.API.Peer.Archive = &apitest.Shelf{Fail: archive.ErrUnavailable}
	s.Do(http.MethodGet, "/jobs/1/tasks", "").Problem(http.StatusServiceUnavailable, wire.CodeBehind)
}
