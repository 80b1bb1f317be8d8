package sched_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A user leads whose jobs wait for GPUs and for nothing else; and who has had more stands back then only.
func TestWhoLeads(t *testing.T) {
	for name, v := range map[string]struct {
		job   func(c *cluster, s *model.Spec)
		then  func(c *cluster)
		leads bool
	}{
		"who waits for GPUs":         {leads: true},
		"who has no room left":       {then: func(c *cluster) { c.limit("bob", 0, 5) }},
		"who may run nothing":        {then: func(c *cluster) { c.limit("bob", 5, 0) }},
		"who waits for an instant":   {job: func(c *cluster, s *model.Spec) { s.Begin = c.now.Add(48 * time.Hour) }},
		"who holds their jobs":       {job: func(_ *cluster, s *model.Spec) { s.Held = true }},
		"while a neighbour is bound": {then: func(c *cluster) { c.limit("cyd", 0, 0) }, leads: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "fair_share")
			c.node("n1", 1, "H200")
			c.submit(spec("amy", 1, 0), 1, 0)
			c.plan()
			s := spec("bob", 1, 0)
			if v.job != nil {
				v.job(c, &s)
			}
			c.submit(s, 1, 0)
			if v.then != nil {
				v.then(c)
			}
			c.now = c.now.Add(24 * time.Hour)
			c.must(&command.AdvanceClock{})
			amy, bob := leadOf(c, "amy"), leadOf(c, "bob")
			if leads := bob > 1; leads != v.leads || (amy < 1) != v.leads || v.leads && (bob != 2 || amy != 0.5) {
				t.Errorf("bob is moved by %g and amy by %g", bob, amy)
			}
		})
	}
}

// leadOf is by what a user's scores are multiplied.
func leadOf(c *cluster, user string) float64 {
	for _, p := range sched.Portions(&c.s, c.now) {
		if p.Key.User == user {
			return p.Lead
		}
	}
	return 1
}
