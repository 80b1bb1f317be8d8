package jobs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What is refused wherever a cluster is: each names its field and repeats nothing.
func TestCommandsThatAreNone(t *testing.T) {
	s := apitest.New(t)
	for body, field := range map[string]string{
		`{"command":"echo SECRET\u0000"}`:                      "command",
		`{"command":"echo SECRET \u001b[2J"}`:                  "command",
		`{"command":"echo SECRET \u0007"}`:                     "command",
		`{"command":"echo SECRET \u202e"}`:                     "command",
		`{"command":"echo SECRET \u2066"}`:                     "command",
		`{"args":["SECRET","\u001b"]}`:                         "args",
		`{"args":["SECRET\u0000x"]}`:                           "args",
		`{"script":"#!/bin/sh\necho SECRET \u0008"}`:           "script",
		`{"command":"true","env":{"1A":"SECRET"}}`:             "env",
		`{"command":"true","env":{"A B":"SECRET"}}`:            "env",
		`{"command":"true","env":{"":"SECRET"}}`:               "env",
		`{"command":"true","env":{"Ä":"SECRET"}}`:              "env",
		`{"command":"true","env":{"BERTH_JOB_ID":"SECRET"}}`:   "env",
		`{"command":"true","env":{"berth_x":"SECRET"}}`:        "env",
		`{"command":"true","env":{"CUDA_VISIBLE_DEVICES":""}}`: "env",
		`{"command":"true","workdir":"SECRET/relative"}`:       "workdir",
	} {
		r := s.Submit(body)
		r.About(field)
		if strings.Contains(string(r.Body), "SECRET") {
			t.Errorf("%s is answered %s", body, r.Body)
		}
	}
	for _, body := range []string{
		`{"command":"for i in 1 2; do\n\techo $i\r\ndone"}`, `{"args":["python","-c","print('ü')"]}`, `{"args":["a",""]}`,
		`{"command":"true","env":{"_A1":"\u001b","HOME":""}}`, `{"command":"true","workdir":"/data/.."}`,
	} {
		s.Submit(body).Into(new(wire.Submitted))
	}
}

func rulesFor(t *testing.T) (c intake.CommandRules) {
	t.Helper()
	for _, err := range []error{
		c.Forbid("no-sudo", `(^|[\s;&|])sudo\b`, "ask an operator"),
		c.Forbid("no-wipe", `rm\s+-rf\s+/`, ""),
		c.Allow("python", `python3? [^;&|]*`, ""),
		c.Allow("shell-scripts", `(?s)#!/bin/sh\n.*`, ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestCommandRules(t *testing.T) {
	s := apitest.New(t)
	rules := rulesFor(t)
	rules.Bounds = intake.CommandBounds{
		Command: 40, Script: 60, Env: 1, WorkDirs: []string{"/data/", "/home"}, GPUs: 4, CPUs: 8, MemoryMB: 64_000, Time: time.Hour,
	}
	s.API.TakeOver(core.Terms{Rules: rules})
	for body, says := range map[string]string{
		`"command":"sudo python x"`:                                          "no-sudo: ask an operator",
		`"args":["python","x","sudo"]`:                                       "no-sudo",
		`"script":"#!/bin/sh\nrm  -rf /"`:                                    "no-wipe",
		`"command":"bash"`:                                                   "python, shell-scripts",
		`"command":"python x; bash"`:                                         "python, shell-scripts",
		`"command":"python x","script":"perl"`:                               "python, shell-scripts",
		`"command":"python ` + strings.Repeat("x", 40) + `"`:                 "at most 40 bytes here, and is 47",
		`"script":"#!/bin/sh\n` + strings.Repeat("x", 60) + `"`:              "at most 60 bytes",
		`"command":"python x","env":{"A":"","B":""}`:                         "at most 1 variables",
		`"command":"python x","workdir":"/database"`:                         "/data/, /home",
		`"command":"python x","workdir":"/data/../etc"`:                      "/data/, /home",
		`"command":"python x","gpu_count":5`:                                 "at most 4",
		`"command":"python x","cpus":9`:                                      "at most 8",
		`"command":"python x","host_memory_gb":65`:                           "at most 64",
		`"command":"python x","time_limit":"2h"`:                             "at most 1h0m0s",
		`"command":"python x","user":"ann","project":"p","time_limit":"61m"`: "at most 1h0m0s",
	} {
		if !strings.Contains(body, "time_limit") {
			body += `,"time_limit":"1h"`
		}
		r := s.Do(http.MethodPost, "/queue/submit", "{"+body+"}")
		p := r.Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
		if !strings.Contains(p.Error(), says) {
			t.Errorf("%s is answered %s, want %q", body, p.Error(), says)
		}
		s.Do(http.MethodPost, "/queue/submit?dry_run=true", "{"+body+"}").Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	}
	if p := s.Submit(`{"command":"python x"}`).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid); !strings.Contains(p.Error(), "must be given here") {
		t.Errorf("without a time limit: %s", p.Error())
	}
	for _, body := range []string{
		`"command":"python train.py"`, `"args":["python3","train.py"]`, `"script":"#!/bin/sh\ntrue"`, `"command":"python x","workdir":"/home"`,
		`"command":"python x","workdir":"/data/x..y"`,
	} {
		s.Submit("{" + body + `,"time_limit":"1h"}`).Into(new(wire.Submitted))
	}
}

// A job that runs gets no longer than one that is submitted may.
func TestTimeLimitsAreNotRaisedBeyondTheRules(t *testing.T) {
	s := apitest.New(t)
	s.API.TakeOver(core.Terms{Rules: intake.CommandRules{Bounds: intake.CommandBounds{Time: time.Hour}}})
	s.Submit(`{"command":"x","time_limit":"30m"}`).Into(new(wire.Submitted))
	for _, body := range []string{`{"by":"31m"}`, `{"time_limit":"61m"}`} {
		p := s.Do(http.MethodPost, "/queue/1/extend", body).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
		if !strings.Contains(p.Error(), "at most 1h0m0s") {
			t.Errorf("%s is answered %s", body, p.Error())
		}
	}
	for _, body := range []string{`{"by":"10m"}`, `{"time_limit":"1h"}`} {
		s.Do(http.MethodPost, "/queue/1/extend", body).Into(new(wire.Done))
	}
	s.Do(http.MethodPost, "/queue/2/extend", `{"by":"1m"}`).Problem(http.StatusNotFound, wire.CodeNotFound)
}
