package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Text that would be changed on its way is refused, with the field in which it stands.
func TestTextThatCannotBeKeptIsRefused(t *testing.T) {
	s := newSite(t)
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
		s.submit(body).about(field)
	}
	for _, bad := range []string{`"a b"`, `"aGVsbG8"`, `"` + strings.Repeat("AAAA", 1+model.MaxStdin/3) + `"`, `1`} {
		s.submit(`{"command":"cat","stdin":` + bad + `}`).about("stdin")
	}
	s.do(http.MethodPost, "/queue/submit", "{\"command\":\"caf\xe9\"}").problem(http.StatusBadRequest, wire.CodeMalformed)
	s.submit(`{"command":"echo \ud83d\ude00 \\ud800 \ufffd"}`).into(&wire.Submitted{})
	if d := s.detail("/jobs/1"); d.Command != "echo 😀 \\ud800 \uFFFD" {
		t.Errorf("kept %q", d.Command)
	}
}

// A parameter that is empty, given twice or cannot be read is refused: without it the answer
// would be about more than was asked for.
func TestParametersAreReadStrictly(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) { c.Node("n1", 2) })
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
		s.do(http.MethodGet, path, "").about(field)
	}
	s.do(http.MethodGet, "/queue?user=%zz", "").problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.do(http.MethodGet, "/queue?user=ann;state=queued", "").problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.submit(`{"command":"x"}`).into(&wire.Submitted{})
	s.do(http.MethodPost, "/queue/1/hold?note=", "").into(&wire.Done{})
	s.do(http.MethodDelete, "/queue/1?task=", "").about("task")
}
