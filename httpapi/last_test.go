package httpapi

import (
	"net/http"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A job that has ended shows where it ran last, and so does each task of an array.
func TestWhereAJobRanLast(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var alone, waits, array string
	s.with(func(c *statetest.Cluster) {
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
	s.do(http.MethodGet, "/jobs/"+alone, "").into(&d)
	if d.Last == nil || !slices.Equal(d.Last.Nodes, []string{"n1"}) || !d.Last.StartedAt.Equal(d.StartedAt) || d.Last.OutOfMemory {
		t.Errorf("%+v", d.Last)
	}
	d = wire.Detail{}
	if s.do(http.MethodGet, "/jobs/"+waits, "").into(&d); d.Last != nil {
		t.Errorf("of a job that waits: %+v", d.Last)
	}
	var list wire.Tasks
	s.do(http.MethodGet, "/jobs/"+array+"/tasks", "").into(&list)
	if len(list.Tasks) != 2 || list.Tasks[0].Last == nil || !slices.Equal(list.Tasks[0].Last.Nodes, []string{"n1"}) || list.Tasks[1].Last != nil {
		t.Errorf("%+v", list)
	}
}

// parted is an archive that returns the parts of one job: the first one, and that of a task.
type parted struct {
	shelf

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
	s := newSite(t)
	const size = state.HistoryTasks + 5
	s.with(func(c *statetest.Cluster) {
		many := c.Submit(1, func(b *command.Submit) { b.Tasks = size })
		c.Do(&command.Cancel{Job: many, Task: model.AllTasks})
	})
	now := s.State()
	kept := &parted{parts: now.Histories(1)}
	if len(kept.parts) != 2 {
		t.Fatalf("%d parts", len(kept.parts))
	}
	s.api.Peer.Archive = kept
	s.with(func(c *statetest.Cluster) {
		c.State.Jobs, c.State.Tasks = state.State{}.Jobs, state.State{}.Tasks // as if it had been retired
	})
	for _, query := range []string{"?", "?state=canceled&", "?limit=700&", "?limit=1000&"} {
		var got []int64
		for after := ""; ; {
			var page wire.Tasks
			s.do(http.MethodGet, "/jobs/1/tasks"+query+after, "").into(&page)
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
	if s.do(http.MethodGet, "/jobs/1/tasks?state=running", "").into(&none); len(none.Tasks) != 0 || none.Next != "" {
		t.Errorf("%+v", none)
	}
	s.do(http.MethodGet, "/jobs/9/tasks", "").problem(http.StatusNotFound, wire.CodeNotFound)
	s.api.Peer.Archive = &shelf{fail: archive.ErrUnavailable}
	s.do(http.MethodGet, "/jobs/1/tasks", "").problem(http.StatusServiceUnavailable, wire.CodeBehind)
}
