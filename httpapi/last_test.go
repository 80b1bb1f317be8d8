package httpapi

import (
	"net/http"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
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
