package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Text that would be changed on its way is refused, with the field in which it stands.
func TestTextThatCannotBeKeptIsRefused(t *testing.T) {
	s := apitest.New(t)
	for body, field := range map[string]string{
		`{"command":"x","name":"\ud800"}`:                      "name",
		`{"command":"echo \udc00"}`:                            "command",
		`{"args":["ls","a\ud83d"]}`:                            "args",
		`{"command":"x","env":{"A":"\ud83d\ud83d"}}`:           "A",
		`{"script":"#!/bin/sh\n# \ud800 \n"}`:                  "script",
		`{"script":"a\u0000b"}`:                                "script",
		`{"script":"#!/bin/bash\r\necho hi\r\n"}`:              "script",
		`{"args":["x"],"script":"#!/bin/bash\r\necho hi\r\n"}`: "script",
		`{"command":"a\u0000b"}`:                               "command",
		`{"args":["ls","a\u0000"]}`:                            "args",
		`{"command":"x","env":{"A":"\u0000"}}`:                 "env",
	} {
		s.Submit(body).About(field)
	}
	for _, bad := range []string{`"a b"`, `"aGVsbG8"`, `"` + strings.Repeat("AAAA", 1+model.MaxStdin/3) + `"`, `1`} {
		s.Submit(`{"command":"cat","stdin":` + bad + `}`).About("stdin")
	}
	s.Do(http.MethodPost, "/queue/submit", "{\"command\":\"caf\xe9\"}").Problem(http.StatusBadRequest, wire.CodeMalformed)
	s.Submit(`{"command":"echo \ud83d\ude00 \\ud800 \ufffd"}`).Into(&wire.Submitted{})
	if d := s.Detail("/jobs/1"); d.Command != "echo 😀 \\ud800 \uFFFD" {
		t.Errorf("kept %q", d.Command)
	}
}

// An empty value would count as not given, and so widen what is asked for: it is refused in
// every body, wherever nothing says that it has a meaning.
func TestEmptyValuesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	for body, field := range map[string]string{
		`"user":""`: "user", `"project":" "`: "project", `"constraint":""`: "constraint", `"gpu_type":"\u0020"`: "gpu_type",
		`"nodelist":""`: "nodelist", `"nodelist":[""]`: "nodelist", `"nodelist":[]`: "nodelist", `"nodelist":["n1",""]`: "nodelist",
		`"exclude":[""]`: "exclude", `"placement":""`: "placement", `"begin":""`: "begin", `"deadline":""`: "deadline",
		`"time_limit":""`: "time_limit", `"attached":""`: "attached", `"on_lost":""`: "on_lost", `"stop_signal":""`: "stop_signal",
		`"array_indices":""`: "array_indices", `"params":[]`: "params", `"dependencies":[""]`: "dependencies", `"name":""`: "name",
		`"run_id":""`: "run_id", `"webhook_url":""`: "webhook_url", `"notify":[]`: "notify", `"retry_on":[]`: "retry_on",
		`"workdir":""`: "workdir", `"env":{"":"x"}`: "env", `"checkpoint_dir":""`: "checkpoint_dir", `"min_gpus":0`: "min_gpus",
		`"nodes":0`: "nodes", `"cpus":0`: "cpus",
		`"array_size":0`: "array_size", `"array_limit":0`: "array_limit", `"host_memory_gb":0`: "host_memory_gb", `"gpus_per_node":0`: "gpus_per_node",
		`"time_limit":0`: "time_limit", `"priority":0`: "priority",
	} {
		r := s.Submit(`{"command":"x",` + body + `}`)
		if r.About(field); t.Failed() {
			t.Fatalf("%s: %s", body, r.Body)
		}
	}
	for _, body := range []string{
		`"args":["ls",""]`, `"command":"x","stdin":""`, `"command":"x","env":{"A":""}`, `"command":"x","exclude":[],"dependencies":[]`,
		`"command":"x","user":null,"nodelist":null`, `"command":"x","max_retries":0,"idle_stop":0`,
	} {
		s.Submit(`{` + body + `}`).Into(new(wire.Submitted))
	}
	for _, c := range []struct{ method, path, body, field string }{
		{http.MethodPost, "/gpu/allocate", `{"service_name":"x","user":""}`, "user"},
		{http.MethodPost, "/gpu/allocate", `{"service_name":"x","nodelist":[]}`, "nodelist"},
		{http.MethodPost, "/reservations", `{"gpu_count":1,"user":"","start":"now","duration":"1h"}`, "user"},
		{http.MethodPost, "/webhooks", `{"url":"http://example.com","user":""}`, "user"},
		{http.MethodPost, "/webhooks", `{"url":"http://example.com","events":[]}`, "events"},
		{http.MethodPost, "/tokens", `{"user":"ann","role":""}`, "role"},
		{http.MethodPut, "/users/ann", `{"role":"","join":["x"]}`, "role"},
		{http.MethodPut, "/nodes/n1/mode", `{"mode":""}`, "mode"},
		{http.MethodPut, "/quotas/user/ann", `{"over_quota":"","gpus":1}`, "over_quota"},
	} {
		if r := s.Do(c.method, c.path, c.body); r.Status != http.StatusNotFound || t.Failed() {
			r.About(c.field)
		} else {
			t.Errorf("%s %s: %s", c.method, c.path, r.Body)
		}
	}
	s.Do(http.MethodPut, "/nodes/n1/mode", `{"mode":"cordoned","reason":""}`).Into(new(wire.NodeDone))
}

// A parameter that is empty, given twice or cannot be read is refused: without it the answer
// would be about more than was asked for.
func TestParametersAreReadStrictly(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 2) })
	for path, field := range map[string]string{
		"/queue?user=":                "user",
		"/queue?user":                 "user",
		"/queue?state=%20":            "state",
		"/queue?user=ann&user=bob":    "user",
		"/queue?user=%ff":             "user",
		"/queue?limit=0":              "limit",
		"/jobs?user=":                 "user",
		"/history?state=":             "state",
		"/events?once=true&types=":    "types",
		"/usage?user=":                "user",
		"/audit?actor=":               "actor",
		"/gpu/allocations?service=":   "service",
		"/jobs/1/logs?task=":          "task",
		"/jobs/1/logs?attempt=0":      "attempt",
		"/gpu/allocations?user=":      "user",
		"/webhooks/x/deliveries?to=":  "to",
		"/jobs/%ff":                   "job_id",
		"/nodes/%ff/gpus/history":     "node_id",
		"/queue/statistics?wait=":     "wait",
		"/queue?consistency=":         "consistency",
		"/deliveries?state=":          "state",
		"/jobs/1/tasks?state=":        "state",
		"/reservations?consistency=":  "consistency",
		"/queue?user=%ED%A0%80":       "user",
		"/queue?state=queued&state=x": "state",
	} {
		s.Do(http.MethodGet, path, "").About(field)
	}
	s.Do(http.MethodGet, "/queue?user=%zz", "").Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.Do(http.MethodGet, "/queue?user=ann;state=queued", "").Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.Submit(`{"command":"x"}`).Into(&wire.Submitted{})
	s.Do(http.MethodPost, "/queue/1/hold?note=", "").Into(&wire.Done{})
	s.Do(http.MethodDelete, "/queue/1?task=", "").About("task")
}
