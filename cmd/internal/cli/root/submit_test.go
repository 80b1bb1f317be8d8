package root

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// fakeAPI answers submissions, and knows one job of everybody.
type fakeAPI struct {
	*httptest.Server
	got wire.Submit
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /queue/submit", func(w http.ResponseWriter, r *http.Request) {
		f.got = wire.Submit{}
		if err := json.NewDecoder(r.Body).Decode(&f.got); err != nil {
			t.Error(err)
		}
		job := wire.Job{ID: "43", State: "queued", Reason: "waits for job 42"}
		if f.got.Params != nil || f.got.Indices != "" {
			job.Array = &wire.Array{Size: 6, Indices: f.got.Indices, Params: f.got.Params}
		}
		answer(w, &wire.Submitted{Success: true, JobID: "43", Job: job})
	})
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("limit") != "1" || q.Get("user") == "" || q.Get("consistency") != "linearizable" {
			t.Errorf("asked for %s", r.URL)
		}
		list := &wire.Jobs{Jobs: []wire.Job{}}
		if r.URL.Query().Get("user") != "nobody" {
			list.Jobs = append(list.Jobs, wire.Job{ID: "42"})
		}
		answer(w, list)
	})
	mux.HandleFunc("GET /jobs/{id}/spec", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "42" {
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(http.StatusNotFound)
			answer(w, &wire.Problem{Status: http.StatusNotFound, Code: wire.CodeNotFound, Detail: "there is no such job"})
			return
		}
		answer(w, &wire.Submit{
			User: "ben", Name: "train", Script: "#!/bin/sh\n", Dependencies: []string{"afterok:1"}, Begin: "2026-01-01T00:00:00Z",
			Deadline: "2026-02-01T00:00:00Z", Hold: new(true), Env: map[string]string{"A": "1"},
		})
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// berth runs a command line against the fake and returns its exit code and output.
func (f *fakeAPI) berth(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	var o, e strings.Builder
	return Run(args, &o, &e), o.String(), e.String()
}

// TestRedo checks that a job is submitted again without what belongs to the first submission only.
func TestRedo(t *testing.T) {
	f := newFakeAPI(t)
	for _, id := range []string{"42", "@"} {
		f.got = wire.Submit{}
		if code, out, errs := f.berth(t, "redo", id); code != 0 || out != "Submitted job 43 (waits for job 42)\n" {
			t.Errorf("redo %s: exit code %d, %q, %q", id, code, out, errs)
		}
		g := &f.got
		if g.Name != "train" || g.Script == "" || g.Env["A"] != "1" || g.User == "ben" || g.Dependencies != nil || g.Begin != "" || g.Deadline != "" || g.Hold != nil {
			t.Errorf("redo %s: sent %+v", id, g)
		}
	}
	f.got = wire.Submit{}
	t.Setenv("BERTH_TOKEN", "berth_0123") // which identifies its user: the account of this process may be another one
	if code, _, errs := f.berth(t, "redo", "42"); code != 0 || f.got.User != "" {
		t.Errorf("with a token: exit code %d, sent the user %q: %s", code, f.got.User, errs)
	}
	t.Setenv("BERTH_TOKEN", "")
	if code, out, _ := f.berth(t, "redo", "--parsable", "42", "42"); code != 0 || out != "43\n43\n" {
		t.Errorf("exit code %d, %q", code, out)
	}
	for want, args := range map[string][]string{
		"job 7: there is no such job": {"7", "42"}, "names tasks of an array": {"42.3"}, "takes the ids of jobs": {}, "exclude each other": {"--dry-run", "--parsable", "42"},
	} {
		if code, _, errs := f.berth(t, append([]string{"redo"}, args...)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("redo %q: exit code %d, %q, want %q", args, code, errs, want)
		}
	}
}

func TestSubmitTurns(t *testing.T) {
	f := newFakeAPI(t)
	script := filepath.Join(t.TempDir(), "train.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n#BERTH --dependency afterok:12:13\n#BERTH --begin=now+1hour --array=0-9%2\ntrue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		args []string
		want wire.Submit
	}{
		{[]string{"-d", "12,13", "--", "x"}, wire.Submit{Dependencies: []string{"afterok:12:13"}}},
		{[]string{"--after", "@", "--afterok", "7", "--", "x"}, wire.Submit{Dependencies: []string{"afterok:42:7"}}},
		{[]string{"--afterany", "5", "--afternotok", "6", "--", "x"}, wire.Submit{Dependencies: []string{"afterany:5", "afternotok:6"}}},
		{[]string{"--dependency", "afterok:@:9,afterany:3", "--", "x"}, wire.Submit{Dependencies: []string{"afterok:42:9", "afterany:3"}}},
		{[]string{"--begin", "+2h", "--deadline", "2026-12-24T18:00:05Z", "--", "x"}, wire.Submit{Begin: "+7200", Deadline: "2026-12-24T18:00:05Z"}},
		{[]string{"-a", "0-99:10", "--", "x"}, wire.Submit{Indices: "0-99:10"}},
		{[]string{"--param", "lr=1e-3,1e-4", "--param", "seed=1..5", "--", "x"}, wire.Submit{Params: []string{"lr=1e-3,1e-4", "seed=1..5"}}},
		{[]string{"--afterbegin", "5+10,@", "--aftercorr", "6", "--", "x"}, wire.Submit{Dependencies: []string{"aftercorr:6", "after:5+10:42"}}},
		{[]string{"--dependency", "afterok:@:9?after:3+5", "--", "x"}, wire.Submit{Dependencies: []string{"afterok:42:9?after:3+5"}}},
		{[]string{script}, wire.Submit{Dependencies: []string{"afterok:12:13"}, Begin: "+3600", Indices: "0-9"}},
	} {
		code, out, errs := f.berth(t, append([]string{"submit"}, v.args...)...)
		if code != 0 || out != "Submitted job 43 (waits for job 42)\n" {
			t.Errorf("%v: exit code %d, %q, %q", v.args, code, out, errs)
		}
		g := &f.got
		if !slices.Equal(g.Dependencies, v.want.Dependencies) || g.Begin != v.want.Begin || g.Deadline != v.want.Deadline ||
			g.Indices != v.want.Indices || !slices.Equal(g.Params, v.want.Params) {
			t.Errorf("%v: sent %+v", v.args, g)
		}
	}
	if code, _, _ := f.berth(t, "submit", "-a", "%3", "--param", "a=1,2", "--", "x"); code != 0 || *f.got.MaxRunning != 3 || f.got.Indices != "" {
		t.Errorf("a sweep with a throttle: exit code %d, sent %+v", code, f.got)
	}
}

func TestSubmitTurnsWrongly(t *testing.T) {
	f := newFakeAPI(t)
	for _, args := range [][]string{
		{"--dependency", "afterok:1?afterok:2,afterok:3"},
		{"--dependency", "expand:1"},
		{"--dependency", "singleton"},
		{"--dependency", "afterok"},
		{"--dependency", "afterok:"},
		{"--begin", "soon"},
		{"--deadline", "yesterday"},
		{"-a", "5-"},
		{"-a", "%4"},
		{"-a", "0-3%0"},
		{"-a", "0-3%x"},
		{"-a", "0-3", "--param", "a=1"},
		{"--after", "12.3"},
	} {
		if code, _, errs := f.berth(t, append(append([]string{"submit"}, args...), "--", "x")...); code != cmdline.ExitUsage || f.got.Args != nil {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
	if code, _, errs := f.berth(t, "submit", "-u", "nobody", "--after", "@", "--", "x"); code != cmdline.ExitNotFound {
		t.Errorf("the newest job of a user without jobs: exit code %d, %s", code, errs)
	}
}

// Every command that takes a job takes @, and one that takes tasks takes them.
func TestEveryCommandTakesRefs(t *testing.T) {
	var asked []string
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jobs" {
			_, _ = w.Write([]byte(`{"jobs":[{"id":"42"}]}`))
			return
		}
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("task"))
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(f.Close)
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	for line, want := range map[string]string{
		"show @":                    "GET /jobs/42 ",
		"show @.3":                  "GET /jobs/42 3",
		"explain 17_3":              "GET /jobs/17 3",
		"logs @.3":                  "GET /jobs/42/logs 3",
		"tasks @":                   "GET /jobs/42 ",
		"cancel 17.[3-9]":           "DELETE /queue/17 3-9",
		"hold @.1":                  "POST /queue/42/hold 1",
		"release 17":                "POST /queue/17/release ",
		"release --dependencies @":  "DELETE /queue/42/dependencies ",
		"requeue 17.[1,3]":          "POST /queue/17/requeue 1,3",
		"extend --by 1h @":          "POST /queue/42/extend ",
		"extend --by 1h 17.3":       "",
		"release --dependencies @.": "",
		"show 17.[3-9]":             "",
		"logs 17.[3,4]":             "",
	} {
		asked = nil
		var out, errs strings.Builder
		Run(strings.Fields(line), &out, &errs)
		if got := strings.Join(asked, "; "); got != want && !strings.HasPrefix(got, want+"; ") {
			t.Errorf("%s asked for %q, want %q: %s", line, got, want, errs.String())
		}
	}
}

// To try an array out tells how many tasks it would have, and of a sweep their grid.
func TestTryOutAnArray(t *testing.T) {
	f := newFakeAPI(t)
	for want, args := range map[string][]string{
		"It would have 6 tasks: lr=1,2 × seed=1..3.": {"--param", "lr=1,2", "--param", "seed=1..3"},
		"It would have 6 tasks: 0-5.":                {"-a", "0-5"},
	} {
		code, out, errs := f.berth(t, append(append([]string{"submit", "--dry-run"}, args...), "--", "x")...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: %d, %q%s; want %q", args, code, out, errs, want)
		}
	}
}
