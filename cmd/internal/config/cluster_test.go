package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// inForce returns the values in force in a state.
func inForce(s *state.State) Cluster {
	limit, limited := s.Limits.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return ClusterOf(s.Settings(), limit, limited)
}

// A new state begins with what its founders are configured with.
func TestFounding(t *testing.T) {
	for name, c := range map[string]Cluster{"defaults": defaultCluster(), "all": other()} {
		s, b := statetest.Empty(t), c.Founding()
		b.Incarnation, b.Level = statetest.Incarnation(1), command.Level
		s.Do(&b)
		if got := inForce(&s.State); got != c {
			t.Errorf("%s: the state has %+v\nwant %+v", name, got, c)
		}
	}
}

// other is a cluster that differs in everything from the defaults.
func other() Cluster {
	c := defaultCluster()
	c.Running, c.Policy, c.Queued, c.RunTime = false, "fcfs", model.Unlimited, time.Hour
	c.UserGPUs = 8
	c.Tuning.Depth, c.Tuning.Retries, c.Pools = 5, 1, model.Pools{Mode: model.PoolStatic, Part: 500}
	c.Retention = model.Retention{Jobs: 5, Age: time.Hour}
	c.Defaults = model.Defaults{Name: "x", Class: model.ClassLow, IdleStop: time.Hour, CheckpointInterval: time.Minute}
	return c
}

// A change by names leads to the commands for just that, and to none if any is wrong.
func TestSetByName(t *testing.T) {
	s := statetest.New(t)
	was := inForce(&s.State)
	next := was
	if err := next.Set(map[string]string{"jobs.max_retries": "3", "scheduling.depth": "7", "jobs.max_run_time": "2d", "allocation.max_gpus_per_user": "8", "cluster.name": "x"}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, b := range next.Changes(was) {
		kinds = append(kinds, b.Kind().String())
		s.Do(b)
	}
	if want := []string{"adjust_policy", "set_defaults"}; !slices.Equal(kinds, want) {
		t.Errorf("commands %v, want %v", kinds, want)
	}
	now := inForce(&s.State)
	if now.UserGPUs != 8 {
		t.Errorf("users have %d GPUs", now.UserGPUs)
	}
	if lifted := now; lifted.Set(map[string]string{"allocation.max_gpus_per_user": "none"}) != nil || lifted.UserGPUs != model.Unlimited {
		t.Errorf("once it is lifted users have %d GPUs", lifted.UserGPUs)
	}
	for _, row := range now.Settings() {
		if err := now.Set(map[string]string{row.Name: row.Value.Text()}); err != nil {
			t.Errorf("%s does not take its own value: %v", row.Name, err)
		}
	}
	before := now
	err := now.Set(map[string]string{"jobs.max_retries": "5", "jobs.max_retires": "5", "scheduling.depth": "-1"})
	if err == nil || now != before || !strings.Contains(err.Error(), "did you mean jobs.max_retries?") || !strings.Contains(err.Error(), "scheduling.depth must be") {
		t.Errorf("it says %v", err)
	}
}

// Only what is given and differs is told.
func TestDifferences(t *testing.T) {
	l, err := loadText(t, "cluster: {name: a}\nscheduling: {policy: fcfs, depth: 16}\n")
	if err != nil {
		t.Fatal(err)
	}
	now := defaultCluster()
	now.Defaults.Name, now.Tuning.Retries = "a", 7
	got := l.Differences(now)
	if len(got) != 1 || !strings.HasSuffix(got[0], "berth.yaml:2: scheduling.policy is fcfs here and fair_share in the cluster") {
		t.Errorf("they are %q", got)
	}
}

// Where webhooks may go is checked as the API checks an admin's list.
func TestWhereWebhooksGo(t *testing.T) {
	for list, good := range map[string]bool{
		"10.0.0.0/8, *.corp, hook.corp,2001:db8::1": true, "": true,
		"hook.corp:8080": false, "https://hook.corp": false, "10.0.0.0/8,*.*.corp": false, "*": false, "10.0.0.0/99": false,
	} {
		c := defaultCluster()
		if err := c.Set(map[string]string{"webhooks.allow": list}); (err == nil) != good {
			t.Errorf("%q: %v", list, err)
		}
	}
}
