package jobs_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestSpecIsASubmission checks that the submission of a job queues the same job again, whatever was asked for.
func TestSpecIsASubmission(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a command":   `{"command":"python train.py","gpu_count":2,"name":"a","priority":3,"max_retries":2,"retry_on":[7,9],"time_limit":"2h"}`,
		"arguments":   `{"args":["python","a b","","c"],"gpu_count":1,"workdir":"/data","constraint":"!spot","exclude":["n2"]}`,
		"a script":    `{"script":"#!/bin/sh\necho $1\n","args":["x"],"stdin":"aGVsbG8=","env":{"A":"1=2","B":""},"submit_env":{"PATH":"/bin","LONG":"x y"}}`,
		"a gang":      `{"command":"x","gpu_count":4,"nodes":2,"lead":true,"on_lost":"fail","grace":"20s","stop_signal":"INT"}`,
		"an array":    `{"command":"x","array_indices":"1-5,9","array_limit":2,"hold":true}`,
		"a sweep":     `{"command":"x","params":["lr=0.1,0.2","seed=1..3"]}`,
		"no GPUs":     `{"command":"x","gpu_count":0,"cpus":4,"host_memory_gb":2.5}`,
		"after a job": `{"command":"x","dependencies":["afterok:1"],"begin":"+1h","deadline":"+10h"}`,
		"Slurm's":     `{"script":"#!/bin/sh\ntrue","cpus":2,"slurm":{"partition":"p","tasks_per_node":2,"cpus_per_task":1,"stdout":"x-%j.out"}}`,
		"checkpoints": `{"command":"x","checkpoint_signal":"USR1","checkpoint_grace":"1m","checkpoint_dir":"/ckpt","warn_signal":"USR2","warn_before":"5m","time_limit":"1h"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t)
			s.With(func(c *statetest.Cluster) { c.Node("n1", 8); c.Node("n2", 8) })
			s.Submit(`{"command":"first"}`).Into(new(wire.Submitted))
			s.Submit(body).Into(new(wire.Submitted))
			api, err := client.New(client.Options{Addresses: []string{strings.TrimPrefix(s.URL, "http://")}})
			if err != nil {
				t.Fatal(err)
			}
			first, err := api.Spec(t.Context(), "2")
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			s.Submit(string(text)).Into(new(wire.Submitted))
			second, err := api.Spec(t.Context(), "3")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("the job that the submission queues is another one (-first +second):\n%s\n%s", diff, text)
			}
			var asked, told map[string]any
			if err := json.Unmarshal([]byte(body), &asked); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &told); err != nil {
				t.Fatal(err)
			}
			for field := range asked {
				if _, there := told[field]; !there {
					t.Errorf("%s is left out: %s", field, text)
				}
			}
		})
	}
}

// TestSpecIsPrivate checks that only the job's user and operators see a submission, and only the user the environment of the submission.
func TestSpecIsPrivate(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.Do(http.MethodPost, "/queue/submit", `{"script":"#!/bin/sh\ntrue","env":{"A":"1"},"submit_env":{"SECRET":"x"},"webhook_url":"https://hooks.example/secret","notify":["failed"]}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	var own, operators wire.Submit
	s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Ann)...).Into(&own)
	s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Operator)...).Into(&operators)
	if own.Shell["SECRET"] != "x" || own.Env["A"] != "1" || operators.Shell != nil || own.WebhookURL == "" || operators.WebhookURL != "" ||
		operators.Notify != nil || operators.Env["A"] != "1" || operators.Script != own.Script {
		t.Errorf("the user sees %+v, an operator %+v", own, operators)
	}
	s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Viewer)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodGet, "/jobs/9/spec", "", apitest.As(apitest.Operator)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.With(func(c *statetest.Cluster) { c.Do(&command.Cancel{Job: 1, Task: model.AllTasks}) })
	s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Ann)...).Into(&own) // it has ended, and may be submitted again
}
