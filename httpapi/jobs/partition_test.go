package jobs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestPartitions checks that a job in Slurm's language gets what its partition and QOS mean, and is refused above their limits.
func TestPartitions(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 8)
		c.Node("n2", 8)
		c.Do(&command.SetNodeLabels{Node: "n2", Changes: "zone=a"})
		c.Do(&command.SetDefaults{Defaults: model.Defaults{
			Partitions: "gpu default max_time=2h default_time=1h; zone constraint=zone=a max_gpus=4 max_nodes=1", QOS: "fast priority=high max_time=30m",
		}})
	})
	submit := func(body string) *apitest.Reply {
		return s.Do(http.MethodPost, "/queue/submit", `{"script":"#!/bin/sh\n","gpu_count":2,`+body+`}`)
	}
	for _, c := range []struct {
		body string
		want func(*wire.Submitted) bool
	}{
		{`"slurm":{"tasks_per_node":1}`, func(a *wire.Submitted) bool {
			return a.Job.Slurm.Partition == "gpu" && a.Job.TimeLimitSeconds == 3600 && a.Job.Constraint == "" && len(a.Warnings) == 0
		}},
		{`"slurm":{"partition":"other,zone","tasks_per_node":1},"constraint":"!spot"`, func(a *wire.Submitted) bool {
			return a.Job.Slurm.Partition == "zone" && a.Job.TimeLimitSeconds == 0 && strings.Contains(a.Job.Constraint, "zone=a") &&
				strings.Contains(a.Job.Constraint, "!spot")
		}},
		{`"slurm":{"qos":"fast","tasks_per_node":1}`, func(a *wire.Submitted) bool { return a.Job.Priority == 3 && a.Job.TimeLimitSeconds == 1800 }},
		{`"slurm":{"qos":"fast","tasks_per_node":1},"time_limit":"10m","priority":1`, func(a *wire.Submitted) bool { return a.Job.Priority == 1 && a.Job.TimeLimitSeconds == 600 }},
		{`"slurm":{"partition":"a100","qos":"x","tasks_per_node":1}`, func(a *wire.Submitted) bool {
			return len(a.Warnings) == 2 && strings.Contains(a.Warnings[0], "names the partition a100") && a.Job.TimeLimitSeconds == 3600 && a.Job.Slurm.Partition == "a100"
		}},
		{`"slurm":{"partition":"zone","tasks_per_node":1,"unlimited":true},"warn_signal":"USR1","warn_before":"1m"`, func(a *wire.Submitted) bool {
			return a.Job.TimeLimitSeconds == 0 && a.Job.Nodes == 1
		}},
		{`"slurm":{"tasks_per_node":1},"warn_signal":"USR1","warn_before":"1m"`, func(a *wire.Submitted) bool { return a.Job.TimeLimitSeconds == 3600 }},
		{`"name":"plain"`, func(a *wire.Submitted) bool { return a.Job.Slurm == nil && a.Job.TimeLimitSeconds == 0 }},
	} {
		answer := &wire.Submitted{}
		submit(c.body).Into(answer)
		if !c.want(answer) {
			t.Errorf("%s: %+v, %+v", c.body, answer, answer.Job.Slurm)
		}
	}
	refusePartitions(t, s)
	nodes := &wire.Nodes{}
	s.Do(http.MethodGet, "/nodes", "").Into(nodes)
	if len(nodes.Partitions) != 2 || len(nodes.QOS) != 1 || !slices.Equal(nodes.Partitions[0].Nodes, []string{"n1", "n2"}) ||
		!slices.Equal(nodes.Partitions[1].Nodes, []string{"n2"}) || nodes.Partitions[1].MaxGPUs != 4 {
		t.Errorf("the nodes are in %+v, %+v", nodes.Partitions, nodes.QOS)
	}
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetDefaults{Defaults: model.Defaults{Partitions: "gpu", RefuseUnknown: true}})
	})
	if got := submit(`"slurm":{"partition":"a100","tasks_per_node":1}`); got.Status/100 != 4 || !strings.Contains(string(got.Body), "use one of gpu") {
		t.Errorf("an unknown partition: %d %s", got.Status, got.Body)
	}
}

// refusePartitions checks what is refused by the limits of the settings of [TestPartitions].
func refusePartitions(t *testing.T, s *apitest.Site) {
	t.Helper()
	for body, want := range map[string]string{
		`"slurm":{"tasks_per_node":1},"time_limit":"3h"`:                                 "limit of the partition gpu",
		`"slurm":{"partition":"zone","tasks_per_node":1},"gpu_count":5`:                  "must be at most 4",
		`"slurm":{"partition":"zone","tasks_per_node":1},"nodes":2`:                      "must be at most 1",
		`"slurm":{"qos":"fast","partition":"zone","tasks_per_node":1},"time_limit":"1h"`: "limit of the QOS fast",
		`"slurm":{"tasks_per_node":1,"unlimited":true}`:                                  "must be given, because the partition gpu",
		`"slurm":{"partition":"x,","tasks_per_node":1},"time_limit":"3h"`:                "limit of the partition gpu",
		`"slurm":{"colour":"red"}`:                                                       "slurm",
		`"slurm":{"tasks":-1}`:                                                           "tasks is -1",
	} {
		body = `{"script":"#!/bin/sh\n",` + body + `}`
		if !strings.Contains(body, "gpu_count") {
			body = strings.Replace(body, `"script"`, `"gpu_count":2,"script"`, 1)
		}
		if got := s.Do(http.MethodPost, "/queue/submit", body); got.Status/100 != 4 || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s, want %s", body, got.Status, got.Body, want)
		}
	}
}

// TestExtendWithinPartition checks that a job's user gets no more time than the partition allows, and an operator may give more.
func TestExtendWithinPartition(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 8)
		c.Do(&command.SetDefaults{Defaults: model.Defaults{Partitions: "gpu default max_time=2h"}})
		c.Submit(2, func(b *command.Submit) {
			b.Spec.User, b.Spec.TimeLimit, b.Spec.Slurm = "ann", time.Hour, `{"partition":"gpu","tasks_per_node":1}`
		})
	})
	user, operator := apitest.As(apitest.Ann), apitest.As(apitest.Operator)
	if got := s.Do(http.MethodPost, "/queue/1/extend", `{"by":"90m"}`, user...); got.Status/100 != 4 || !strings.Contains(string(got.Body), "limit of the partition gpu") {
		t.Errorf("the user gets: %d %s", got.Status, got.Body)
	}
	if got := s.Do(http.MethodPost, "/queue/1/extend", `{"by":"30m"}`, user...); got.Status != http.StatusOK {
		t.Errorf("within the limit the user gets: %d %s", got.Status, got.Body)
	}
	if got := s.Do(http.MethodPost, "/queue/1/extend", `{"by":"90m"}`, operator...); got.Status != http.StatusOK {
		t.Errorf("the operator gets: %d %s", got.Status, got.Body)
	}
}
