package queue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A user leads whose jobs wait for GPUs and for nothing else; and who has had more stands back then only.
func TestWhoLeads(t *testing.T) {
	for name, v := range map[string]struct {
		job   func(c *schedtest.Cluster, s *model.Spec)
		then  func(c *schedtest.Cluster)
		leads bool
	}{
		"who waits for GPUs":         {leads: true},
		"who has no room left":       {then: func(c *schedtest.Cluster) { c.Limit("bob", 0, 5) }},
		"who may run nothing":        {then: func(c *schedtest.Cluster) { c.Limit("bob", 5, 0) }},
		"who waits for an instant":   {job: func(c *schedtest.Cluster, s *model.Spec) { s.Begin = c.Now.Add(48 * time.Hour) }},
		"who holds their jobs":       {job: func(_ *schedtest.Cluster, s *model.Spec) { s.Held = true }},
		"while a neighbour is bound": {then: func(c *schedtest.Cluster) { c.Limit("cyd", 0, 0) }, leads: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := schedtest.New(t, "fair_share")
			c.Node("n1", 1, "H200")
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			c.Plan()
			s := schedtest.Spec("bob", 1, 0)
			if v.job != nil {
				v.job(c, &s)
			}
			c.Submit(s, 1, 0)
			if v.then != nil {
				v.then(c)
			}
			c.Now = c.Now.Add(24 * time.Hour)
			c.Must(&command.AdvanceClock{})
			amy, bob := leadOf(c, "amy"), leadOf(c, "bob")
			if leads := bob > 1; leads != v.leads || (amy < 1) != v.leads || v.leads && (bob != 2 || amy != 0.5) {
				t.Errorf("bob is moved by %g and amy by %g", bob, amy)
			}
		})
	}
}

// leadOf is by what a user's scores are multiplied.
func leadOf(c *schedtest.Cluster, user string) float64 {
	for _, p := range queue.Portions(&c.State, c.Now) {
		if p.Key.User == user {
			return p.Lead
		}
	}
	return 1
}

// Shares that were given are told before anything is used of them, and change nothing for others.
func TestSharesThatWereGivenAreListed(t *testing.T) {
	c := schedtest.New(t, "fair_share")
	c.Node("n1", 4, "H200")
	for _, user := range []string{"amy", "bob"} {
		c.Submit(schedtest.Spec(user, 2, 0), 1, 0)
	}
	for _, key := range c.Plan() {
		c.Begin(key)
	}
	c.Now = c.Now.Add(time.Hour)
	c.Must(&command.AdvanceClock{})
	before := queue.Portions(&c.State, c.Now)
	for _, scope := range []model.ScopeKey{{Kind: model.ScopeProject, Name: "p"}, {Kind: model.ScopeUser, Name: "new"}} {
		c.Must(&command.SetWeight{Weight: model.Weight{Scope: scope, Shares: 50}})
	}
	listed := []queue.Portion(nil)
	for _, p := range queue.Portions(&c.State, c.Now) {
		switch p.Key {
		case model.ShareKey{Project: "p"}, model.ShareKey{User: "new"}:
			if p.Shares != 50 || p.Used != 0 {
				t.Errorf("%+v", p)
			}
		default:
			listed = append(listed, p)
		}
	}
	if len(before) != 3 || !slices.Equal(listed, before) {
		t.Errorf("others are %+v, they were %+v", listed, before)
	}
	if all := queue.Portions(&c.State, c.Now); len(all) != 5 {
		t.Errorf("%d are listed: %+v", len(all), all)
	}
}
