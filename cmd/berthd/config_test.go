package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/childtest"
)

// publishedFile is the published example of a cluster's file.
const publishedFile = `
cluster:
  name: "GPU-Cluster-01"
  total_gpus: 32

allocation:
  strategy: "hybrid"
  reserved_ratio: 0.3

scheduling:
  algorithm: "fair-share"
  max_queue_size: 1000
  default_priority: 5

monitoring:
  interval_seconds: 5
  metrics_retention_days: 30
  alert_thresholds:
    temperature: 85
    utilization: 95
    memory: 90

policies:
  max_gpus_per_user: 8
  max_job_duration_hours: 48
  enable_preemption: true

fault_tolerance:
  enable_checkpointing: true
  checkpoint_interval_minutes: 10
  auto_retry_failed_jobs: true
  max_retries: 3
`

// serviceFile is the published example of the service's file, all of it.
const serviceFile = `
server:
  port: "8086"
  read_timeout: 15s
  write_timeout: 15s

services:
  deepagents_url: "http://localhost:9004"
  graph_service_url: "http://localhost:8081"

scheduler:
  queue_check_interval: 5s
  max_queue_size: 100

workload_defaults:
  inference:
    default_memory_mb: 4096
    default_priority: 7

auth:
  enabled: true
  header_name: "X-API-Key"
  api_keys:
    "your-secret-key-1": "training-service"
    "your-secret-key-2": "inference-service"
`

// The published file of the service is one that a peer runs with as it is: its keys let
// in, and its defaults size workloads.
func TestAPeerOfTheServiceFile(t *testing.T) {
	p := childtest.Start(t, "server", "--config", writeFile(t, serviceFile), "--http", apiAddress(1), "--data-dir", onePeer(t), "--id", "p1", "--listen", address(1),
		"--bootstrap", "p1="+address(1))
	p.Line(t, leads)
	call := func(path, body string, headers ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+apiAddress(1)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	const ask = `{"service_name": "training", "workload_type": "inference"}`
	if code, text := call("/gpu/workload", ask); code != http.StatusUnauthorized {
		t.Errorf("the valid key is not accepted: %d %s", code, text)
	}
	for _, with := range [][]string{{"X-API-Key", "your-secret-key-1"}, {"Authorization", "Bearer your-secret-key-2"}} {
		if code, text := call("/gpu/workload", ask, with...); code != http.StatusOK || !strings.Contains(text, "4096") {
			t.Errorf("%v: %d %s", with, code, text)
		}
	}
}

// What is wrong in the sections of keys and of workloads is told by its line, and no key.
func TestWrongPartsOfAFile(t *testing.T) {
	for text, says := range map[string]string{ //nolint:gosec // no secrets
		"auth:\n  enabled: true\n  api_keys:\n    SECRET-SECRET-SECRET: {service: a, role: god}\n": "berth.yaml:4: ",
		"auth:\n  enabled: true\n\n  api_keys:\n    SECRET: a\n":                                   "berth.yaml:5: ",
		"auth:\n  enabled: true\n  api_keys:\n    SECRET-SECRET-SECRET:\n      servise: a\n":       "berth.yaml:5: is not valid",
		"auth: {enabled: true, api_keys: SECRET}":                                                  "berth.yaml:1: is not valid",
		"auth:\n  enabled: true\n  header_name: 'X Y'\n":                                           "berth.yaml:3: auth.header_name: the name of a header",
		"auth:\n  api_keys: {SECRET-SECRET-SECRET: a}\n":                                           "berth.yaml:2: auth.api_keys needs --auth (auth.enabled in the file)",
		"\nworkload_defaults:\n  # typical\n  ocr:\n    gpus: many\n":                              "berth.yaml:5: gpus must be",
		"services:\n  deepagents_url: localhost:9004\n":                                            "berth.yaml:2: services.deepagents_url must be an address",
	} {
		path := writeFile(t, text)
		if code, out, errs := called("config", "validate", path); code != cmdline.ExitUsage || !strings.Contains(errs, says) || strings.Contains(out+errs, "SECRET") {
			t.Errorf("%q: exit code %d, %s%s\nwant %s", text, code, out, errs, says)
		}
	}
	path := writeFile(t, strings.Replace(serviceFile, "enabled: true", "enabled: false", 1))
	if code, out, errs := called("config", "validate", path); code != 0 || !strings.Contains(out, "auth.api_keys counts only with authentication") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// writeFile makes a file of its own for a test.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// force is the values in force in a cluster, by name.
func force(t *testing.T, api *client.Client) map[string]string {
	t.Helper()
	got, err := api.Operator().Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, v := range got.Settings {
		out[v.Name] = v.Value
	}
	return out
}

// One peer that is started with the published file takes it over when it founds its
// cluster; from then on the cluster's own word counts, whatever the file says.
func TestAPeerOfAFile(t *testing.T) {
	own := "\nserver:\n  id: p1\n  data_dir: " + onePeer(t) + "\n  listen: " + address(1) + "\n  http: " + apiAddress(1) +
		"\n  bootstrap: [p1=" + address(1) + "]\n"
	path := writeFile(t, publishedFile+own)
	p := childtest.Start(t, "server", "--config", path)
	p.Line(t, "cluster.total_gpus has no effect: GPUs are those that agents find")
	p.Line(t, leads)
	api := dial(t, apiAddress(1))
	job, err := api.Submit(t.Context(), &wire.Submit{Command: "true"}, "")
	if err != nil || job.Job.Priority != 2 {
		t.Fatalf("a job became %+v: %v", job, err)
	}
	for name, want := range map[string]string{
		"cluster.name": "GPU-Cluster-01", "allocation.strategy": "hybrid", "allocation.reserved_ratio": "0.3",
		"scheduling.policy": "fair_share", "scheduling.max_queue_size": "1000", "jobs.default_priority": "normal",
		"jobs.max_run_time": "48h", "scheduling.preempt": "lower", "scheduling.no_preemption": "false",
		"jobs.checkpoint_interval": "10m", "jobs.max_retries": "3", "scheduling.enabled": "true",
	} {
		if got := force(t, api)[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	d, _, err := api.Job(t.Context(), job.JobID, client.JobQuery{})
	if err != nil || d.MaxRetries != 3 || d.TimeLimitSeconds != 48*3600 {
		t.Errorf("its job is %+v: %v", d, err)
	}
	if _, err := api.Operator().SetSettings(t.Context(), &wire.SetSettings{Settings: map[string]string{"jobs.max_retries": "1"}}); err != nil {
		t.Fatal(err)
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.Exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again := childtest.Start(t, "server", "--config", path)
	again.Line(t, "fault_tolerance.max_retries is 3 here and 1 in the cluster")
	if got := force(t, dial(t, apiAddress(1)))["jobs.max_retries"]; got != "1" {
		t.Errorf("after another start it is %s", got)
	}
}

// A cluster whose founders are told to start nothing starts nothing.
func TestAStoppedBeginning(t *testing.T) {
	t.Setenv("RESEARCH_AGENT_GPU_ORCHESTRATION_ENABLED", "false")
	t.Setenv("PORT", strings.TrimPrefix(apiAddress(1)[strings.LastIndex(apiAddress(1), ":"):], ":"))
	host := apiAddress(1)[:strings.LastIndex(apiAddress(1), ":")]
	path := writeFile(t, "server: {http: '"+host+":1'}\n") // the port comes from the environment
	p := childtest.Start(t, "server", "--config", path, "--data-dir", onePeer(t), "--id", "p1", "--listen", address(1),
		"--bootstrap", "p1="+address(1))
	p.Line(t, leads)
	p.Line(t, "http="+apiAddress(1))
	api := dial(t, apiAddress(1))
	if _, err := api.Submit(t.Context(), &wire.Submit{Command: "true"}, ""); err != nil {
		t.Fatal(err)
	}
	if got := force(t, api); got["scheduling.enabled"] != "false" || got["scheduling.max_queue_size"] != "100000" {
		t.Errorf("in force: %v", got)
	}
}

// A peer that gets SIGHUP takes over what it can, and survives a wrong file.
func TestHangup(t *testing.T) {
	path := writeFile(t, "log: {level: info}\n")
	p := childtest.Start(t, "server", "--config", path, "--data-dir", onePeer(t), "--id", "p1", "--listen", address(1),
		"--http", apiAddress(1), "--bootstrap", "p1="+address(1))
	p.Line(t, leads)
	for _, step := range []struct{ text, says string }{
		{"log: {level: loud}\n", "the configuration is not valid and was not taken over"},
		{"log: {level: error}\nworkload_defaults:\n  ocr: {gpus: many}\n", "berth.yaml:3: gpus must be"},
		{"log: {level: debug}\nauth: {rate_limit: 7}\nserver: {min_free_mib: 1}\n", "server.min_free_mib takes effect at the next start"},
	} {
		if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Signal(t, syscall.SIGHUP)
		p.Line(t, step.says)
	}
	p.Line(t, `taken_over="[log.level auth.rate_limit]"`)
}

// Keys, rules and what is known of workloads are taken over by a peer that runs, from files
// whose names stay the same, too.
func TestHangupTakesTermsOver(t *testing.T) {
	const old, young = "an-old-key-of-a-user", "a-younger-key-of-the-same"
	keys, rules := writeFile(t, ""), writeFile(t, "")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	owned := func(key string) string { return "api_keys: {" + key + ": {user: root, role: admin}}\n" }
	write(keys, owned(old))
	write(rules, "forbidden: [{name: no-sudo, pattern: sudo}]\n")
	path := writeFile(t, "auth: {enabled: true, keys_file: '"+keys+"', command_rules: '"+rules+"'}\n")
	p := childtest.Start(t, "server", "--config", path, "--data-dir", onePeer(t), "--id", "p1", "--listen", address(1),
		"--http", apiAddress(1), "--bootstrap", "p1="+address(1))
	p.Line(t, leads)
	with := func(key string) *client.Client {
		c, err := client.New(client.Options{Addresses: []string{apiAddress(1)}, Token: key, Patience: childtest.Patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	runs := func(key, command string) string {
		_, err := with(key).Submit(t.Context(), &wire.Submit{Command: command}, "")
		if problem, is := errors.AsType[*wire.Problem](err); is {
			return problem.Code
		} else if err != nil {
			t.Fatal(err)
		}
		return ""
	}
	if got := [...]string{runs(old, "true"), runs(young, "true"), runs(old, "sudo true")}; got != [...]string{"", wire.CodeUnauthenticated, wire.CodeInvalid} {
		t.Errorf("at first: %q", got)
	}
	write(keys, owned(young))
	write(rules, "forbidden: [{name: no-true, pattern: 'true'}]\n")
	write(path, "auth: {enabled: true, keys_file: '"+keys+"', command_rules: '"+rules+"'}\nworkload_defaults: {ocr: {default_priority: 9}}\n")
	p.Signal(t, syscall.SIGHUP)
	p.Line(t, `taken_over="[auth.keys_file auth.command_rules workloads.defaults]"`)
	if got := [...]string{runs(young, "sudo x"), runs(old, "x"), runs(young, "true")}; got != [...]string{"", wire.CodeUnauthenticated, wire.CodeInvalid} {
		t.Errorf("after SIGHUP: %q", got)
	}
	if plan, err := with(young).Lists().Analyze(t.Context(), &wire.Workload{Type: "ocr"}); err != nil || plan.Priority != 9 {
		t.Errorf("a workload has the plan %+v: %v", plan, err)
	}
	write(rules, "forbidden: [{name: x, pattern: '('}]\n")
	write(keys, owned(old))
	p.Signal(t, syscall.SIGHUP)
	p.Line(t, "the configuration is not valid and was not taken over")
	if got := [...]string{runs(young, "sudo x"), runs(old, "x")}; got != [...]string{"", wire.CodeUnauthenticated} {
		t.Errorf("after a wrong file: %q", got)
	}
}

// A setting that is marked as taken over on SIGHUP has a function that takes it over.
func TestWhatIsReloaded(t *testing.T) {
	for _, row := range loaded(t, nil).Rows() {
		if known := row.Name == "log.level" || slices.Contains(termsNames, row.Name); known != row.Reload {
			t.Errorf("%s is marked %v and taken over %v", row.Name, row.Reload, known)
		}
	}
}

// Wrong settings end a program with exit code 2 and one line that says where.
func TestWrongSettings(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		args       []string
	}{
		"unknown":       {"server: {htpp: x}", "berth.yaml:1: there is no setting server.htpp; did you mean server.http?", nil},
		"missing":       {"server: {id: p1}", "--data-dir (server.data_dir in the file) is missing", nil},
		"of the file":   {"server: {id: p1, data_dir: x, listen: '0.0.0.0:7000'}", "berth.yaml:1: server.listen: 0.0.0.0:7000 stands for all addresses", nil},
		"of any host":   {"server: {id: p1, data_dir: x, bootstrap: ['p1=127.0.0.1:7000'], http: '[::]:10000'}\nauth: {enabled: true}", "berth.yaml:1: server.http: [::]:10000 stands for all addresses", nil},
		"a proxy":       {"server: {id: p1, data_dir: x, bootstrap: ['p1=127.0.0.1:7000'], public_url: 'berth.example.org'}", "berth.yaml:1: server.public_url: \"berth.example.org\" is not a URL such as https://berth.example.org", nil},
		"contradiction": {"server: {id: p1, data_dir: x, join: ['127.0.0.1:1']}", "--bootstrap founds a cluster and ", []string{"--bootstrap", "p1=127.0.0.1:7000"}},
		"of a flag":     {"", "--raft-timeouts must be lan or wan, not \"far\"", []string{"--raft-timeouts", "far"}},
	} {
		t.Run(name, func(t *testing.T) {
			oneLineOf(t, childtest.Start(t, append([]string{"server", "--config", writeFile(t, c.text)}, c.args...)...), cmdline.ExitUsage, c.says)
		})
	}
	oneLineOf(t, childtest.Start(t, "server", "--config", "none.yaml"), cmdline.ExitUsage, "none.yaml: no such file")
}

// called runs a command in this process.
func called(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run("berth", args, &o, &e)
	return code, o.String(), e.String()
}

func TestConfigValidate(t *testing.T) {
	file := writeFile(t, publishedFile)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"config", "validate", file}, 0, "berth.yaml is valid."},
		{[]string{"config", "validate", file}, 0, "cluster.total_gpus has no effect"},
		{[]string{"config", "validate", writeFile(t, "x: 1\ny: 2\n")}, cmdline.ExitUsage, "berth.yaml:2: there is no setting y\n"},
		{[]string{"config", "validate"}, cmdline.ExitUsage, "one argument"},
	} {
		code, out, errs := called(c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("berth %s: exit code %d\n%s%s", strings.Join(c.args, " "), code, out, errs)
		}
	}
}
