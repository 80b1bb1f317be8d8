package jobs_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestDefaults(t *testing.T) {
	s := apitest.New(t)
	got := s.Spec(`{"command":"x"}`)
	want := model.Spec{
		User: "anonymous", Command: "x", Class: 2, Priority: 2, GPUs: 1, OnLost: model.OnLostHold,
		DisconnectGrace: 5 * time.Minute, Grace: 30 * time.Second,
	}
	if got != want {
		t.Errorf("a job of nothing but a command is %+v", got)
	}
	for body, want := range map[string]model.OnLost{
		`{"command":"x","time_limit":"1h"}`:                     model.OnLostRequeue,
		`{"command":"x","time_limit":3601}`:                     model.OnLostHold,
		`{"command":"x","time_limit":"2d","on_lost":"requeue"}`: model.OnLostRequeue,
		`{"command":"x","on_lost":"fail"}`:                      model.OnLostFail,
	} {
		if got := s.Spec(body); got.OnLost != want {
			t.Errorf("%s: %s", body, got.OnLost)
		}
		for _, path := range []string{"/queue/submit", "/queue/submit?dry_run=true"} {
			var answer wire.Submitted
			if s.Do(http.MethodPost, path, body).Into(&answer); answer.OnLost != want.String() {
				t.Errorf("POST %s %s answers %q", path, body, answer.OnLost)
			}
		}
	}
}

// Two names of one thing are one thing, and an explicit 0 is no default.
func TestNamesOfOneThing(t *testing.T) {
	s := apitest.New(t)
	for body, check := range map[string]func(*model.Spec) bool{
		`"memory_gb":40`:                      func(s *model.Spec) bool { return s.GPUMemoryMB == 40_000 },
		`"gpu_memory_gb":40`:                  func(s *model.Spec) bool { return s.GPUMemoryMB == 40_000 },
		`"gpu_memory_gb":40,"memory_gb":40.0`: func(s *model.Spec) bool { return s.GPUMemoryMB == 40_000 },
		`"estimated_duration":90`:             func(s *model.Spec) bool { return s.Estimate == 90*time.Second },
		`"estimated_duration":"1h30m"`:        func(s *model.Spec) bool { return s.Estimate == 90*time.Minute },
		`"estimated_duration_seconds":5400`:   func(s *model.Spec) bool { return s.Estimate == 90*time.Minute },
		`"time_limit":"2-00:00:00"`:           func(s *model.Spec) bool { return s.TimeLimit == 48*time.Hour },
		`"time_limit_seconds":60`:             func(s *model.Spec) bool { return s.TimeLimit == time.Minute },
		`"max_retries":0,"grace":0`:           func(s *model.Spec) bool { return s.MaxRetries == 0 && s.Grace == 0 },
		`"nodes":2,"gpus_per_node":4`:         func(s *model.Spec) bool { return s.GPUs == 8 && s.Nodes == 2 },
		`"gpu_count":8,"gpus_per_node":4`:     func(s *model.Spec) bool { return s.GPUs == 8 && s.Nodes == 2 },
		`"gpus_per_node":4`:                   func(s *model.Spec) bool { return s.GPUs == 4 && s.Nodes == 1 },
		`"stop_signal":"SIGUSR1"`:             func(s *model.Spec) bool { return s.StopSignal == "USR1" },
		`"stop_signal":"12"`:                  func(s *model.Spec) bool { return s.StopSignal == "USR2" },
		`"stop_signal":"sigint"`:              func(s *model.Spec) bool { return s.StopSignal == "INT" },
		`"preemptible":true,"hold":true`:      func(s *model.Spec) bool { return s.Preemptible && s.Held },
		`"retry_on":[137,75,75]`:              func(s *model.Spec) bool { return s.RetryOn == "75,137" },
		`"time_limit":"1h","warn_signal":"SIGUSR1"`: func(s *model.Spec) bool {
			return s.WarnSignal == "USR1" && s.WarnBefore == time.Minute
		},
		`"checkpoint_signal":"USR2","checkpoint_interval_seconds":600,"checkpoint_dir":"/c"`: func(s *model.Spec) bool {
			return s.CheckpointInterval == 10*time.Minute && s.CheckpointDir == "/c"
		},
		`"idle_stop":"30m"`:          func(s *model.Spec) bool { return s.IdleStop == 30*time.Minute },
		`"umask":"27"`:               func(s *model.Spec) bool { return s.Umask == "0027" },
		`"attached":"30s"`:           func(s *model.Spec) bool { return s.Attached == 30*time.Second },
		`"gpu_type":"H100","cpus":4`: func(s *model.Spec) bool { return s.GPUModel == "H100" && s.CPUs == 4 },
	} {
		if got := s.Spec(`{"command":"x",` + body + `}`); !check(&got) {
			t.Errorf("%s became %+v", body, got)
		}
	}
}

// What is wrong is refused, and the field is named.
func TestWrongFields(t *testing.T) {
	s := apitest.New(t)
	for field, bodies := range map[string][]string{
		"memory_gb":                  {`"memory_gb":40,"gpu_memory_gb":80`},
		"estimated_duration_seconds": {`"estimated_duration":"1h","estimated_duration_seconds":1`, `"estimated_duration_seconds":-1`},
		"estimated_duration":         {`"estimated_duration":"soon"`, `"estimated_duration":0`, `"estimated_duration":"0s"`, `"estimated_duration":true`, `"estimated_duration":1e300`},
		"time_limit":                 {`"time_limit":0`, `"time_limit":"-5s"`},
		"time_limit_seconds":         {`"time_limit_seconds":"x"`, `"time_limit_seconds":1e999`},
		"gpu_count":                  {`"gpu_count":8193`, `"gpu_count":-1`, `"gpu_count":"2"`, `"gpu_count":1.5`, `"gpu_count":9223372036854775808`, `"gpu_count":3,"nodes":2`},
		"gpus_per_node":              {`"gpu_count":5,"gpus_per_node":2`, `"gpu_count":5,"nodes":1,"gpus_per_node":2`},
		"priority":                   {`"priority":0`, `"priority":11`, `"priority":"high"`},
		"gpuCount":                   {`"gpuCount":2`},
		"GPU_COUNT":                  {`"GPU_COUNT":2`},
		"frob":                       {`"frob":null`},
		"max_retries":                {`"max_retries":-1`, `"max_retries":1001`},
		"on_lost":                    {`"on_lost":"pray"`},
		"args":                       {`"args":["a"]`, `"args":"a"`},
		"env":                        {`"env":{"1A":"x"}`, `"env":{"A=B":"x"}`, `"env":{"A":"\u0000"}`, `"env":["A=1"]`, `"env":{"A":1}`},
		"user":                       {`"user":"two words"`, `"user":7`},
		"workdir":                    {`"workdir":"relative"`},
		"name":                       {`"name":"a\u0007b"`},
		"array_size":                 {`"array_size":0`, `"array_size":10001`},
		"array_limit":                {`"array_limit":0`},
		"disconnect_grace":           {`"disconnect_grace":"1s"`},
		"stop_signal":                {`"stop_signal":"rm -rf"`, `"stop_signal":"USR9"`, `"stop_signal":"0"`, `"stop_signal":"32"`, `"stop_signal":"RTMIN+1"`},
		"checkpoint_signal":          {`"checkpoint_signal":"NOPE"`, `"checkpoint_signal":"KILL"`, `"checkpoint_signal":"19"`},
		"gpu_memory_gb":              {`"gpu_memory_gb":-1`, `"gpu_memory_gb":1e12`},
		"hold":                       {`"hold":"yes"`},
		"retry_on":                   {`"retry_on":[0]`, `"retry_on":[256]`, `"retry_on":75`},
		"warn_signal":                {`"warn_signal":"USR1"`},
		"warn_before":                {`"warn_before":5`, `"time_limit":"5m","warn_signal":"USR1","warn_before":"5m"`},
		"checkpoint_interval":        {`"checkpoint_interval":60`, `"checkpoint_signal":"USR1","checkpoint_interval":1`},
		"checkpoint_dir":             {`"checkpoint_dir":"here"`},
		"idle_stop":                  {`"idle_stop":59`, `"idle_stop":-1`, `"gpu_count":0,"idle_stop":"1h"`},
		"preemptible":                {`"preemptible":1`, `"gpu_count":0,"preemptible":true`},
		"gpu_type":                   {`"gpu_count":0,"gpu_type":"h100"`},
		"attached":                   {`"attached":1`, `"attached":"2d"`},
	} {
		for _, body := range bodies {
			r := s.Submit(`{"command":"x",` + body + `}`)
			if r.About(field); t.Failed() {
				t.Fatalf("%s: %s", body, r.Body)
			}
		}
	}
	s.Submit(`{}`).About("command")
	s.Submit(`{"command":"  "}`).About("command")
	s.Submit(`{"args":[]}`).About("args")
	s.Submit(`{"args":["a\u0000b"]}`).About("args")
}

func TestMalformedBodies(t *testing.T) {
	s := apitest.New(t)
	for _, body := range []string{
		"", " ", "null", "[]", `"x"`, "7", "{", `{"command":"x"`, `{"command":"x"}{}`, "{\"command\":\"\xff\"}", `{"command":"x",}`,
		`{"command":"x","command":"y"}`, `{"command":"x","env":{"A":"1","A":"2"}}`, `{"command":"x","\u0063ommand":"y"}`,
		strings.Repeat("[", 20_000),
	} {
		s.Submit(body).Problem(http.StatusBadRequest, wire.CodeMalformed)
	}
	s.Submit(`{"command":"`+strings.Repeat("x", core.MaxBody)+`"}`).Problem(http.StatusRequestEntityTooLarge, wire.CodeTooLarge)
	if n := s.State(); n.Jobs.Len() != 0 {
		t.Errorf("%d jobs came of it", n.Jobs.Len())
	}
}

// A body of very many names is refused without taking long: the work grows with
// its length.
func TestManyNames(t *testing.T) {
	s := apitest.New(t)
	var b strings.Builder
	for i := range 60_000 {
		b.WriteString(`"N` + strconv.Itoa(i) + `":"",`)
	}
	s.Submit(`{"command":"x","env":{`+b.String()+`"N7":""}}`).Problem(http.StatusBadRequest, wire.CodeMalformed)
	s.Submit(`{"command":"x","env":{` + b.String() + `"Z":""}}`).About("env")
}

// No error repeats what may be secret.
func TestErrorsKeepSecrets(t *testing.T) {
	s := apitest.New(t)
	const secret = "hunter2"
	for _, body := range []string{
		`{"command":"` + secret + `","frob":1}`, `{"command":"x","env":{"1":"` + secret + `"}}`, `{"command":["` + secret + `"]}`,
		`{"command":"x","env":{"A":"` + secret + `\u0000"}}`, `{"command":"x","env":"` + secret + `"}`, `{"command":"x","user":"` + secret + ` "}`,
		`{"command":"x","time_limit":"` + secret + `"}`, `{"command":"x","gpu_count":"` + secret + `"}`, `{"command":"x","script":{"a":"` + secret + `"}}`,
		`{"command":"x","env":{"T":"` + secret + `","T":"` + secret + `"}}`, `{"command":"x" ` + secret,
	} {
		r := s.Do(http.MethodPost, "/queue/submit", body, "Authorization", "Bearer "+secret, "X-Auth-Token", secret)
		if r.Status < 400 || strings.Contains(string(r.Body), secret) {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
}

// Seventeen of sixteen GPUs will never be: the answer says what there is. As long
// as no node has come, the job waits.
func TestWhatCanNeverFit(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x","gpu_count":17}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 8)
		c.Node("n2", 8)
	})
	p := s.Submit(`{"command":"x","gpu_count":17}`).Problem(http.StatusUnprocessableEntity, wire.CodeNeverFits)
	if !strings.Contains(p.Detail, "16") {
		t.Errorf("the detail is %q", p.Detail)
	}
	s.Submit(`{"command":"x","gpu_count":16}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) { c.Node("n3", 8) })
	s.Submit(`{"command":"x","gpu_count":17}`).Into(new(wire.Submitted))
}

// The same submission under the same key is the same job; another body is refused.
func TestIdempotency(t *testing.T) {
	s := apitest.New(t)
	var first, again wire.Submitted
	r := s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, wire.HeaderRequestID, "mine")
	if r.Into(&first); r.Header.Get(wire.HeaderRequestID) != "mine" || r.Header.Get(wire.HeaderIndex) == "" {
		t.Errorf("the headers are %v", r.Header)
	}
	s.Do(http.MethodPost, "/queue/submit", ` {"command" : "x"}`, wire.HeaderRequestID, "mine").Into(&again)
	if first.JobID != again.JobID {
		t.Errorf("jobs %s and %s", first.JobID, again.JobID)
	}
	s.Do(http.MethodPost, "/queue/submit", `{"command":"y"}`, wire.HeaderRequestID, "mine").Problem(http.StatusConflict, "idempotency_conflict")
	one, two := s.Submit(`{"command":"x"}`), s.Submit(`{"command":"x"}`)
	if k := one.Header.Get(wire.HeaderRequestID); len(k) != 36 || k == two.Header.Get(wire.HeaderRequestID) {
		t.Errorf("keys drawn: %q and %q", k, two.Header.Get(wire.HeaderRequestID))
	}
	if st := s.State(); st.Jobs.Len() != 3 {
		t.Errorf("%d jobs", st.Jobs.Len())
	}
}

// Every fault of the peer has its status; its own words stay inside.
func TestFaults(t *testing.T) {
	s := apitest.New(t)
	for code, status := range map[string]int{
		wire.CodeOverloaded: http.StatusTooManyRequests, wire.CodeNoSpace: http.StatusInsufficientStorage,
		wire.CodeDiverged: http.StatusServiceUnavailable, wire.CodeInternal: http.StatusInternalServerError,
	} {
		s.FailWith(&problem.Fault{Code: code, Err: errors.New("secret words")})
		r := s.Submit(`{"command":"x"}`)
		if r.Problem(status, code); strings.Contains(string(r.Body), "secret") || r.Header.Get(wire.HeaderCode) != code {
			t.Errorf("%s: %v %s", code, r.Header, r.Body)
		}
		if wait := r.Header.Get("Retry-After"); (wait != "") != (status == 503 || status == 429) {
			t.Errorf("%s: Retry-After %q", code, wait)
		}
	}
	for _, c := range []model.Code{
		model.CodeLimit, model.CodeNotQueued, model.CodeRequestExpired, model.CodeRequestsFull, model.CodeLevel, model.CodeNotBootstrapped,
	} {
		if f := problem.Refuse(c.String(), ""); f.Status < 400 || f.Code != c.String() {
			t.Errorf("%s became %+v", c, f)
		}
	}
}

// Jobs that do not say otherwise get what the cluster has for them.
func TestDefaultsOfTheCluster(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetDefaults{Defaults: model.Defaults{
			Class: model.ClassHigh, IdleStop: time.Hour, CheckpointInterval: 10 * time.Minute,
		}})
		tuning := c.State.Settings().Tuning
		tuning.Retries = 3
		c.Do(&command.SetTuning{Tuning: tuning})
	})
	const save = `"checkpoint_signal":"USR1"`
	for body, check := range map[string]func(*model.Spec) bool{
		`{"command":"x"}`: func(s *model.Spec) bool {
			return s.IdleStop == time.Hour && s.MaxRetries == 3 && s.Class == model.ClassHigh && s.Priority == 3 && s.CheckpointInterval == 0
		},
		`{"command":"x","idle_stop":0}`:    func(s *model.Spec) bool { return s.IdleStop == 0 },
		`{"command":"x","idle_stop":"2h"}`: func(s *model.Spec) bool { return s.IdleStop == 2*time.Hour },
		`{"command":"x","max_retries":0}`:  func(s *model.Spec) bool { return s.MaxRetries == 0 },
		`{"command":"x","priority":1}`:     func(s *model.Spec) bool { return s.Class == model.ClassLow && s.Priority == 1 },
		`{"command":"x",` + save + `}`:     func(s *model.Spec) bool { return s.CheckpointInterval == 10*time.Minute },
		`{"command":"x",` + save + `,"checkpoint_interval":"1h"}`: func(s *model.Spec) bool {
			return s.CheckpointInterval == time.Hour
		},
		`{"command":"x",` + save + `,"checkpoint_interval_seconds":0}`: func(s *model.Spec) bool { return s.CheckpointInterval == 0 },
	} {
		if got := s.Spec(body); !check(&got) {
			t.Errorf("%s became %+v", body, got)
		}
	}
}
