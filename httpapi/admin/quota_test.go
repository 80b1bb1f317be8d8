package admin_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// quotaOf finds a scope among the quotas.
func quota(s *apitest.Site, scope, name string) (out wire.Quota) {
	s.T.Helper()
	var all wire.Quotas
	s.Do(http.MethodGet, "/quotas?all=true", "").Into(&all)
	i := slices.IndexFunc(all.Quotas, func(q wire.Quota) bool { return q.Scope == scope && q.Name == name })
	if i < 0 {
		s.T.Fatalf("no quota of %s %s in %+v", scope, name, all)
	}
	return all.Quotas[i]
}

// A job that is larger than a limit is accepted, for limits may be raised, with a warning.
func TestLargerThanALimit(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	s.Do(http.MethodPut, "/quotas/user/dave", `{"gpus": 4}`).Into(&wire.Quota{})
	for body, warns := range map[string]bool{
		`{"command":"x","user":"dave","gpu_count":6}`:              true,
		`{"command":"x","user":"dave","gpu_count":6,"min_gpus":4}`: false,
		`{"command":"x","user":"dave","gpu_count":4}`:              false,
		`{"command":"x","user":"eve","gpu_count":6}`:               false,
	} {
		var out wire.Submitted
		s.Submit(body).Into(&out)
		if warned := len(out.Warnings) == 1 && strings.HasPrefix(out.Warnings[0], "may not start: user dave may use 4 GPUs at once"); warned != warns {
			t.Errorf("of %s it is said %q", body, out.Warnings)
		}
	}
}

// The default of users is the cluster's, and shown for each user that it applies to.
func TestDefaultOfUsers(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	var q wire.Quota
	s.Do(http.MethodPut, "/quotas/cluster", `{"gpus_per_user": 2}`).Into(&q)
	if q.GPUsPerUser == nil || *q.GPUsPerUser != 2 || q.GPUs != nil || q.GPUsByDefault {
		t.Errorf("the cluster has %+v", q)
	}
	for range 2 {
		s.Submit(`{"command":"x","user":"ann","gpu_count":2}`).Into(&wire.Submitted{})
	}
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	var all wire.Quotas
	s.Do(http.MethodGet, "/quotas", "").Into(&all)
	if len(all.Quotas) != 2 || all.Quotas[1].Name != "ann" || *all.Quotas[1].GPUs != 2 || !all.Quotas[1].GPUsByDefault ||
		all.Quotas[1].GPUsPerUser != nil {
		t.Errorf("listed are %+v", all)
	}
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "").Into(&d)
	if b := d.Explanation.Blockers; len(b) != 1 || b[0].Code != "limit" || b[0].Scope != "user ann" || !strings.Contains(b[0].Message, "the default of users") {
		t.Errorf("it waits because of %+v", b)
	}
	q = wire.Quota{}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"gpus": 4}`).Into(&q)
	if *q.GPUs != 4 || q.GPUsByDefault {
		t.Errorf("ann has %+v", q)
	}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"gpus": "none"}`).Into(&q)
	if *q.GPUs != 2 || !q.GPUsByDefault {
		t.Errorf("ann has %+v", q)
	}
	for _, path := range []string{"/quotas/user/ann", "/quotas/project/vision"} {
		p := s.Do(http.MethodPut, path, `{"gpus_per_user": 2}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
		if !strings.Contains(p.Detail, "gpus_per_user") {
			t.Errorf("%q does not name gpus_per_user", p.Detail)
		}
	}
	s.Do(http.MethodPut, "/quotas/cluster", `{"gpus_per_user": 0}`).About("gpus_per_user")
	q = wire.Quota{}
	s.Do(http.MethodPut, "/quotas/cluster", `{"gpus_per_user": "none"}`).Into(&q)
	if s.Do(http.MethodGet, "/quotas", "").Into(&all); q.GPUsPerUser != nil || len(all.Quotas) != 1 {
		t.Errorf("the cluster has %+v, listed are %+v", q, all)
	}
}

// Limits are changed one by one, told with their use, lifted, and refused by name.
func TestQuotas(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	var q wire.Quota
	s.Do(http.MethodPut, "/quotas/user/ann", `{"gpus": 2, "queued": 5, "max_run_time": "2h"}`).Into(&q)
	q = wire.Quota{}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"gpu_hours": 1.5, "period": "24h", "over_quota": "lower", "queued": "none"}`).Into(&q)
	if *q.GPUs != 2 || q.Queued != nil || *q.MaxRunTime != 7200 || *q.GPUHours != 1.5 || *q.Period != 86400 || q.OverQuota != "lower" {
		t.Errorf("ann has %+v", q)
	}
	s.Submit(`{"command":"x","user":"ann","gpu_count":2}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		c.Start(c.Place(1))
		c.Wait(30 * time.Minute)
	})
	if q = quota(s, "user", "ann"); q.Used.GPUs != 2 || q.Used.Running != 1 || *q.Used.GPUHours != 1 || q.Used.PeriodEnds.Hour() != 0 {
		t.Errorf("ann uses %+v", q.Used)
	}
	p := s.Submit(`{"command":"x","user":"ann","time_limit":"3h"}`).Problem(http.StatusForbidden, "limit_exceeded")
	for _, part := range []string{"user ann", "2h0m0s", "3h0m0s", "max_run_time"} {
		if !strings.Contains(p.Detail, part) {
			t.Errorf("%q does not name %s", p.Detail, part)
		}
	}
	s.Do(http.MethodPut, "/quotas/cluster", `{"max_queue_size": 0, "max_concurrent_jobs": 9}`).Into(&q)
	if q = quota(s, "cluster", ""); *q.Queued != 0 || *q.MaxQueueSize != 0 || *q.Running != 9 || *q.MaxConcurrent != 9 {
		t.Errorf("the cluster has %+v", q)
	}
	s.Submit(`{"command":"x","user":"ann"}`).Problem(http.StatusForbidden, "limit_exceeded")
	for field, body := range map[string]string{
		"gpus":           `{"gpus": -1}`,
		"queued":         `{"queued": "many"}`,
		"running":        `{"running": 1.5}`,
		"period":         `{"period": "1m"}`,
		"gpu_hours":      `{"gpu_hours": 0}`,
		"over_quota":     `{"over_quota": "stopp"}`,
		"max_queue_size": `{"max_queue_size": 1}`,
		"gpu":            `{"gpu": 1}`,
		"max_run_time":   `{"max_run_time": "x"}`,
	} {
		s.Do(http.MethodPut, "/quotas/user/ann", body).About(field)
	}
	s.Do(http.MethodPut, "/quotas/user/bob", `{}`).About("gpus")
	s.Do(http.MethodPut, "/quotas/user/bob", `{"over_quota": "stop"}`).About("over_quota")
	s.Do(http.MethodPut, "/quotas/team/ann", `{"gpus": 1}`).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPut, "/quotas/user/bob", `{"gpu_hours": 5}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.Do(http.MethodPut, "/quotas/cluster", `{"reserved_gpus": 5}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
}

// What a quota says of jobs that do not say whether they may be suspended is told, and
// is so for what is submitted from then on.
func TestQuotasOfPreemptibleJobs(t *testing.T) {
	s := apitest.New(t)
	var q wire.Quota
	s.Do(http.MethodPut, "/quotas/project/vision", `{"preemptible": true}`).Into(&q)
	if q.Preemptible == nil || !*q.Preemptible || quota(s, "cluster", "").Preemptible != nil {
		t.Errorf("the project has %+v", q)
	}
	for body, yields := range map[string]bool{
		`"project":"vision"`:                                         true,
		`"project":"vision","preemptible":false`:                     false,
		`"project":"speech"`:                                         false,
		`"preemptible":true`:                                         true,
		`"checkpoint_signal":"USR1"`:                                 true,
		`"checkpoint_signal":"USR1","preemptible":false`:             false,
		`"user":"ann","project":"vision"`:                            true,
		`"user":"bob","project":"vision","checkpoint_signal":"USR1"`: true,
	} {
		if spec := s.Spec(`{"command":"x",` + body + `}`); spec.Preemptible != yields {
			t.Errorf("%s: %t", body, spec.Preemptible)
		}
	}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"preemptible": false}`).Into(&q)
	if *q.Preemptible || s.Spec(`{"command":"x","user":"ann","project":"vision"}`).Preemptible {
		t.Errorf("ann has %+v", q)
	}
	q = wire.Quota{}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"preemptible": "none"}`).Into(&q)
	if q.Preemptible != nil || !s.Spec(`{"command":"x","user":"ann","project":"vision"}`).Preemptible {
		t.Errorf("ann has %+v", q)
	}
	for _, wrong := range []string{`1`, `"yes"`, `"true"`, `{}`} {
		s.Do(http.MethodPut, "/quotas/user/ann", `{"preemptible": `+wrong+`}`).About("preemptible")
	}
}

// Shares are told for projects and their users, and set.
func TestShares(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.Submit(`{"command":"x","user":"ann","project":"vision","gpu_count":2}`).Into(&wire.Submitted{})
	s.Submit(`{"command":"x","user":"bob","gpu_count":1}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) {
		c.Place(1)
		c.Place(2)
		c.Wait(time.Hour)
	})
	var w wire.Weight
	s.Do(http.MethodPut, "/shares/user/bob", `{"shares": 200}`).Into(&w)
	s.Do(http.MethodPut, "/shares/project/vision", `{"shares": 300}`).Into(&w)
	var all wire.Shares
	s.Do(http.MethodGet, "/shares", "").Into(&all)
	var got []wire.Share
	for _, v := range all.Shares {
		if v.GPUHours < 0.99*float64(v.GPUs) || v.GPUHours > float64(v.GPUs) {
			t.Errorf("an hour of %d GPUs are %f", v.GPUs, v.GPUHours)
		}
		v.GPUHours = 0
		got = append(got, v)
	}
	want := []wire.Share{ // twice as much for three times the shares: shares that are not needed go to the others
		{Shares: 100, OfFair: 100, GPUs: 1},
		{User: "bob", Shares: 200, OfFair: 100, Lead: 1, GPUs: 1},
		{Project: "vision", Shares: 300, OfFair: 66, GPUs: 2},
		{Project: "vision", User: "ann", Shares: 100, OfFair: 66, Lead: 1, GPUs: 2},
	}
	if all.HalfLife != 7*24*3600 || !slices.Equal(got, want) {
		t.Errorf("the shares are %+v", got)
	}
	s.Do(http.MethodPut, "/shares/user/bob", `{"shares": 0}`).About("shares")
	s.Do(http.MethodPut, "/shares/cluster/x", `{"shares": 5}`).Problem(http.StatusNotFound, wire.CodeNotFound)
}

// How strictly GPUs are guaranteed is shown and set, part by part.
func TestAllocation(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 10) })
	var a wire.Allocation
	s.Do(http.MethodGet, "/orchestrator/allocation", "").Into(&a)
	if a != (wire.Allocation{Mode: "dynamic", Ratio: 0.3, GPUs: 10, Fit: 10}) {
		t.Errorf("a new cluster has %+v", a)
	}
	s.Do(http.MethodPut, "/quotas/user/ann", `{"reserved_gpus": 6}`).Into(&wire.Quota{})
	s.Do(http.MethodPut, "/orchestrator/allocation", `{"mode": "hybrid"}`).Into(&a)
	s.Do(http.MethodPut, "/orchestrator/allocation", `{"reserved_ratio": 0.4}`).Into(&a)
	if a != (wire.Allocation{Mode: "hybrid", Ratio: 0.4, GPUs: 10, Fit: 10, Owned: 6, Kept: 4}) {
		t.Errorf("the cluster has %+v", a)
	}
	s.Submit(`{"command":"x","user":"bob","gpu_count":2}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	s.Do(http.MethodGet, "/orchestrator/allocation", "").Into(&a)
	if a.Lent != 2 {
		t.Errorf("bob borrows, and %+v is told", a)
	}
	s.Submit(`{"command":"x","user":"bob","gpu_count":5}`).Into(&wire.Submitted{})
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "").Into(&d)
	if b := d.Explanation.Blockers; len(b) != 1 || b[0].Code != "pool" || b[0].Need != 5 || b[0].Have != 4 {
		t.Errorf("it waits because of %+v", b)
	}
	s.Do(http.MethodPut, "/orchestrator/allocation", `{"mode": "free"}`).About("mode")
	s.Do(http.MethodPut, "/orchestrator/allocation", `{"reserved_ratio": 1.5}`).About("reserved_ratio")
	s.Do(http.MethodPut, "/orchestrator/allocation", `{}`).About("mode")
}

// Names may have characters that mean something in a path or a query; only a slash divides paths.
func TestNamesInPaths(t *testing.T) {
	s := apitest.New(t)
	for _, name := range []string{"a%2Fb", "a%b", "a?b#c", "a+b", "ä;:@&=$,b"} {
		var q wire.Quota
		s.Do(http.MethodPut, "/quotas/user/"+url.PathEscape(name), `{"gpus": 3}`).Into(&q)
		if q.Name != name {
			t.Errorf("%q is taken for %q", name, q.Name)
		}
		var w wire.Weight
		s.Do(http.MethodPut, "/shares/project/"+url.PathEscape(name), `{"shares": 200}`).Into(&w)
		now := s.State()
		if _, found := now.Weights.Get(model.ScopeKey{Kind: model.ScopeProject, Name: name}); !found {
			t.Errorf("%q has no shares", name)
		}
	}
	s.Do(http.MethodPut, "/quotas/user/a/b", `{"gpus": 3}`).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPut, "/quotas/user/a%2Fb", `{"gpus": 3}`).About("name")
	s.Do(http.MethodPut, "/shares/project/..%2F..%2Fx", `{"shares": 200}`).About("name")
	s.Do(http.MethodGet, "/jobs/1%2Flogs", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}
