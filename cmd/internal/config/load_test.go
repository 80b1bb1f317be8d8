package config

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/fsm/model"
)

// Every row has a name, a variable and a flag of its own, and says what it is.
func TestTheTable(t *testing.T) {
	names, variables := map[string]bool{}, map[string]bool{fileVariable: true, otherVariable: true}
	flags := map[Program]map[string]bool{OfServer: {}, OfAgent: {}, OfClient: {}}
	for _, row := range New().Settings() {
		if names[row.Name] || variables[row.Variable()] {
			t.Errorf("%s or %s stands twice", row.Name, row.Variable())
		}
		names[row.Name], variables[row.Variable()] = true, true
		for of, known := range flags {
			if row.Flag == "" || row.For&of == 0 {
				continue
			}
			if known[row.Flag] {
				t.Errorf("the %s has two flags --%s", of, row.Flag)
			}
			known[row.Flag] = true
		}
		if row.Meaning() == "" || row.Value.Kind() == "" || row.For == 0 || !strings.Contains(row.Name, ".") {
			t.Errorf("%s lacks something: %+v", row.Name, row)
		}
		if row.Value.shape() == isPart {
			continue
		}
		if err := row.Value.Set([]string{row.Value.Text()}); err != nil {
			t.Errorf("%s: its default is not allowed: %v", row.Name, err)
		}
	}
	for _, o := range otherNames() {
		if o.To != "" && !names[o.To] || names[o.Name] {
			t.Errorf("%s%s stands for %q", o.Name, o.Env, o.To)
		}
		if o.Why == "" {
			t.Errorf("%s%s does not say why", o.Name, o.Env)
		}
	}
}

// A later layer wins, and each value tells where it comes from.
func TestLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "berth.yaml")
	text := "server:\n  id: p1\n  http: 127.0.0.1:1\n  listen: 127.0.0.1:2\n  data_dir: /file\nagent:\n  peers: [a:1, b:2]\n  labels: {zone: a}\n"
	text = strings.Replace(text, "{zone: a}", "[zone=a, ssd]", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	given := Bind(OfServer, flags)
	if err := flags.Parse([]string{"--config", path, "--listen", "127.0.0.1:4", "--bootstrap", "a=1,b=2", "--bootstrap", "c=3"}); err != nil {
		t.Fatal(err)
	}
	got, err := Load(given.Source([]string{
		"BERTH_CONFIG=/not/there", "BERTH_SERVER_HTTP=127.0.0.1:3", "BERTH_SERVER_LISTEN=127.0.0.1:3", "PORT=",
		"BERTH_LOG_LEVEL=warn", "BERTH_ADDRESS=nobody", "BERTH_JOB_ID=5",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"server.id":        {"p1", path + ":2: server.id"},
		"server.data_dir":  {"/file", path + ":5: server.data_dir"},
		"server.http":      {"127.0.0.1:3", "BERTH_SERVER_HTTP"},
		"server.listen":    {"127.0.0.1:4", "--listen"},
		"server.bootstrap": {"a=1,b=2,c=3", "--bootstrap"},
		"server.advertise": {"", "--advertise (server.advertise in the file)"},
		"agent.peers":      {"a:1,b:2", path + ":7: agent.peers"},
		"agent.labels":     {"zone=a,ssd", path + ":8: agent.labels"},
		"client.address":   {DefaultHTTP, "--address (client.address in the file)"},
		"cluster.name":     {"", "cluster.name"},
	} {
		if row := got.table.row(name); row.Value.Text() != want[0] || got.At(name) != want[1] {
			t.Errorf("%s is %q by %q, want %q by %q", name, row.Value.Text(), got.At(name), want[0], want[1])
		}
	}
	if got.Log.Level != slog.LevelWarn || got.Server.HTTP != "127.0.0.1:3" || len(got.Server.Bootstrap) != 3 {
		t.Errorf("the program reads %+v", got.Config)
	}
}

// A variable of a setting that is empty is refused, since without it another value would count;
// those of other programs, and of settings that another program has, are as good as none.
func TestEmptyVariables(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"BERTH_SERVER_DATA_DIR=", "BERTH_AUTH_ENABLED= ", "BERTH_LOG_LEVEL="} {
		name, _, _ := strings.Cut(v, "=")
		_, err := Load(Source{Program: OfServer, Environ: []string{name + "=x", v}})
		if err == nil || !strings.HasPrefix(err.Error(), name+" is empty: unset it") {
			t.Errorf("%s gave %v", v, err)
		}
	}
	if _, err := Load(Source{Program: OfServer, Environ: []string{"PORT=", "BERTH_CONFIG=", "BERTH_AGENT_DATA_DIR=", "BERTH_TOKEN="}}); err != nil {
		t.Error(err)
	}
	if _, err := loadText(t, "cluster:\n  name: \"\"\nagent:\n  peers: []\n"); err != nil {
		t.Errorf("what is empty by default may be empty: %v", err)
	}
}

// A variable that looks like a setting and is none is noted.
func TestStrangeVariables(t *testing.T) {
	got, err := Load(Source{Program: OfServer, Environ: []string{
		"BERTH_SERVER_HTPP=x", "BERTH_JOB_ID=1", "BERTH_CONFIG=", "BERTH_SERVER_ID=p1", "SERVER_HTPP=x", "BERTH_AGENT=x",
	}})
	if err != nil || len(got.Notes) != 1 || got.Notes[0] != "BERTH_SERVER_HTPP has no effect: there is no such setting; did you mean BERTH_SERVER_HTTP?" {
		t.Errorf("%v: %v", err, got)
	}
}

// The file is named by a flag, else by Berth's own variable, else by the other.
func TestWhichFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("cluster: {name: "+name+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	both := []string{"BERTH_CONFIG=" + at("b"), "CONFIG_PATH=" + at("c")}
	for name, c := range map[string]struct {
		src  Source
		want string
	}{
		"flag":               {Source{Program: OfServer, File: at("a"), Environ: both}, "a"},
		"own variable":       {Source{Program: OfServer, Environ: both}, "b"},
		"other variable":     {Source{Program: OfServer, Environ: both[1:]}, "c"},
		"not for commands":   {Source{Program: OfClient, Environ: both[1:]}, ""},
		"over the user's":    {Source{Program: OfClient, File: at("a"), Optional: true, Environ: both}, "b"},
		"the user's":         {Source{Program: OfClient, File: at("a"), Optional: true}, "a"},
		"none of the user's": {Source{Program: OfClient, File: at("none"), Optional: true}, ""},
		"none":               {Source{Program: OfServer}, ""},
	} {
		if got, err := Load(c.src); err != nil || got.Cluster.Defaults.Name != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	// Where nothing names one, peers and agents read config.yaml where they are started, if
	// there is one, and say so.
	t.Chdir(dir)
	someone := max(os.Geteuid(), 1) // any user other than root
	write := func(text string) {
		if err := os.WriteFile("config.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cluster: {name: here}")
	for src, want := range map[*Source]string{
		{Program: OfServer}: "here", {Program: OfAgent}: "here", {Program: OfClient}: "", {}: "",
		{Program: OfServer, Environ: both[1:]}: "c", {Program: OfServer, Environ: []string{"BERTH_CONFIG=" + os.DevNull}}: "",
	} {
		src.UID = func() int { return someone }
		got, err := Load(*src)
		if err != nil || got.Cluster.Defaults.Name != want || (len(got.Notes) > 0) != (want == "here") {
			t.Errorf("%+v gives %+v: %v", src, got, err)
		}
	}
	write("cluster: {nam: here}")
	if _, err := Load(Source{Program: OfServer, UID: func() int { return someone }}); err == nil || !strings.HasPrefix(err.Error(), "config.yaml:1: ") {
		t.Errorf("it says %v", err)
	}
	for _, src := range []Source{
		{Program: OfServer, File: at("none")},
		{Program: OfServer, File: dir},
		{Program: OfClient, File: at("a"), Optional: true, Environ: []string{"BERTH_CONFIG=" + at("none")}},
	} {
		if _, err := Load(src); err == nil {
			t.Errorf("%+v can be read", src)
		}
	}
}

// What is wrong is said with its line, and with what was meant.
func TestWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"server:\n  htpp: a:1":                                             "berth.yaml:2: there is no setting server.htpp; did you mean server.http?",
		"sever:\n  http: a:1":                                              "berth.yaml:1: there is no setting sever; did you mean server?",
		"jobs:\n  max_queue_size: 5":                                       "berth.yaml:2: there is no setting jobs.max_queue_size; did you mean scheduler.max_queue_size?",
		"server:\n  nothing_like_it: 5":                                    "berth.yaml:2: there is no setting server.nothing_like_it",
		"server:\n  http: a:1\n  http: b:1":                                "berth.yaml:3: http is a duplicate of line 2",
		"server: 5":                                                        "berth.yaml:1: server must be a section",
		"- server":                                                         "berth.yaml:1: the file must be a section",
		"server:\n  http:":                                                 "berth.yaml:2: server.http has no value",
		"server:\n  http: [a:1]":                                           "berth.yaml:2: server.http must be one value",
		"server:\n  join: {a: b}":                                          "berth.yaml:2: server.join must be a list",
		"server:\n  join: [[a]]":                                           "berth.yaml:2: server.join must be a list of single values",
		"agent:\n  xids: {63: {a: b}}":                                     "berth.yaml:2: agent.xids must be NAME: VALUE lines",
		"agent:\n  hook_limit: 30":                                         "berth.yaml:2: agent.hook_limit must be a time with its unit, such as 30s",
		"agent:\n  hook_limit: -30s":                                       "berth.yaml:2: agent.hook_limit must be a time such as",
		"agent:\n  hook_limit: 0":                                          "berth.yaml:2: agent.hook_limit must be 1s to 24h",
		"agent:\n  gpu_hot: 85C":                                           "berth.yaml:2: agent.gpu_hot must be a whole number",
		"agent:\n  gpu_hot: 99999999999999999999":                          "agent.gpu_hot must be a whole number",
		"agent:\n  run_as_users: maybe":                                    "berth.yaml:2: agent.run_as_users must be true or false",
		"agent:\n  umask: 999":                                             "berth.yaml:2: agent.umask must be octal",
		"agent:\n  keep_gb: lots":                                          "berth.yaml:2: agent.keep_gb must be a number of GB",
		"agent:\n  accounts: {a: b}\n  xids: [63]":                         "berth.yaml:3: agent.xids must be CODE=CLASS",
		"server:\n  raft_timeouts: lam":                                    "berth.yaml:2: server.raft_timeouts must be lan or wan, not \"lam\"; did you mean lan?",
		"log:\n  level: loud":                                              "berth.yaml:2: log.level must be debug, info, warn or error",
		"scheduling:\n  policy: fair":                                      "berth.yaml:2: scheduling.policy must be",
		"scheduling:\n  half_life: 1s":                                     "berth.yaml:2: scheduling.half_life must be 1h to 366d",
		"allocation:\n  reserved_ratio: 30":                                "berth.yaml:2: allocation.reserved_ratio must be a number above 0 and at most 1",
		"scheduling:\n  max_queue_size: -1":                                "berth.yaml:2: scheduling.max_queue_size must be a whole number from 0",
		"server:\n  port: 80x":                                             "berth.yaml:2: server.port must be a port",
		"server:\n  port: 8086\n  http: 127.0.0.1:10000":                   "berth.yaml:3: server.http contradict each other",
		"scheduling:\n  policy: fcfs\n  algorithm: sjf":                    "contradict each other (fcfs and sjf)",
		"fault_tolerance: {auto_retry_failed_jobs: false, max_retries: 3}": "contradict each other",
		"policies:\n  max_job_duration_hours: 48h":                         "berth.yaml:2: policies.max_job_duration_hours must be a number",
		"auth:\n  enabled: perhaps":                                        "berth.yaml:2: auth.enabled must be true or false",
		"server:\n  read_timeout: 15":                                      "berth.yaml:2: server.read_timeout must be a time with its unit",
		"cluster:\n  name: \"a\\0b\"":                                      "berth.yaml:2: cluster.name must be name without NUL bytes",
		"server:\n  http: \"\"":                                            "berth.yaml:2: server.http is empty: give it a value",
		"server:\n  http: \"  \"":                                          "berth.yaml:2: server.http is empty",
		"agent:\n  peers: [\"a:1\", \"\"]":                                 "berth.yaml:2: agent.peers is empty",
		"agent:\n  accounts: {\"\": x}":                                    "berth.yaml:2: agent.accounts is empty",
		"a: &x {b: 1}\nserver: *x":                                         "anchors are not supported",
		"server:\n  <<: {http: a:1}":                                       "berth.yaml:2: <<: anchors are not supported",
		"server: {id: a}\n---\nserver: {id: b}":                            "a second document",
		"server:\n\tid: a":                                                 "berth.yaml:2: found character that cannot start any token: indent with spaces, not tabs",
		"server: {":                                                        "berth.yaml:1: did not find expected node content",
		strings.Repeat("# a\n", maxFile/4+1):                               "is larger than",
	} {
		_, err := loadText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// All that is wrong is said at once.
func TestAllThatIsWrong(t *testing.T) {
	_, err := loadText(t, "server:\n  htpp: 1\n  join: {a: b}\nlogg: 5\n")
	if err == nil || strings.Count(err.Error(), "berth.yaml:") != 3 {
		t.Errorf("it says %v", err)
	}
	_, err = loadText(t, "agent:\n  umask: 999\nlogg: 5\nserver:\n  raft_timeouts: far\n")
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, line[strings.Index(line, "berth.yaml:"):][:len("berth.yaml:1")])
	}
	if !slices.Equal(lines, []string{"berth.yaml:2", "berth.yaml:3", "berth.yaml:5"}) {
		t.Errorf("it says %v", err)
	}
	_, err = loadText(t, "agent:\n  umask: 999\n  gpu_hot: x\n")
	if err == nil || strings.Count(err.Error(), "berth.yaml:") != 2 {
		t.Errorf("it says %v", err)
	}
}

// Files with nothing in them, or with sections whose lines are remarks, are right.
func TestEmptyFiles(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "server:\n  # http: x\n", "~\n"} {
		if got, err := loadText(t, text); err != nil || got.Server.HTTP != DefaultHTTP {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The published example of a cluster's file is understood.
func TestPublishedFile(t *testing.T) {
	got, err := loadText(t, `
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
`)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultCluster()
	want.Pools.Mode, want.Queued, want.RunTime = model.PoolHybrid, 1000, 48*time.Hour
	want.Tuning.Retries, want.UserGPUs = 3, 8
	want.Defaults = model.Defaults{Name: "GPU-Cluster-01", Class: model.ClassNormal, CheckpointInterval: 10 * time.Minute}
	if got.Cluster != want {
		t.Errorf("it became %+v\nwant %+v", got.Cluster, want)
	}
	if got.Agent.GPUs.Hot != 85 {
		t.Errorf("GPUs are hot at %d °C", got.Agent.GPUs.Hot)
	}
	text := strings.Join(got.Notes, "\n")
	for _, name := range []string{
		"cluster.total_gpus", "monitoring.interval_seconds", "monitoring.metrics_retention_days", "monitoring.alert_thresholds.utilization",
		"monitoring.alert_thresholds.memory", "fault_tolerance.enable_checkpointing",
	} {
		if !strings.Contains(text, name+" has no effect: ") {
			t.Errorf("nothing is said about %s:\n%s", name, text)
		}
	}
	if len(got.Notes) != 6 {
		t.Errorf("%d notes:\n%s", len(got.Notes), text)
	}
}

// Conversions of other names.
func TestConversions(t *testing.T) {
	for text, check := range map[string]func(*Loaded) bool{
		"scheduling: {default_priority: 1}":                             func(c *Loaded) bool { return c.Cluster.Defaults.Class == model.ClassLow },
		"scheduling: {default_priority: 4}":                             func(c *Loaded) bool { return c.Cluster.Defaults.Class == model.ClassCritical },
		"scheduling: {default_priority: 8}":                             func(c *Loaded) bool { return c.Cluster.Defaults.Class == model.ClassHigh },
		"scheduling: {default_priority: 10}":                            func(c *Loaded) bool { return c.Cluster.Defaults.Class == model.ClassCritical },
		"fault_tolerance: {auto_retry_failed_jobs: true}":               func(c *Loaded) bool { return c.Cluster.Tuning.Retries == 3 },
		"fault_tolerance: {auto_retry_failed_jobs: false}":              func(c *Loaded) bool { return c.Cluster.Tuning.Retries == 0 },
		"fault_tolerance: {auto_retry_failed_jobs: on, max_retries: 7}": func(c *Loaded) bool { return c.Cluster.Tuning.Retries == 7 },
		"policies: {enable_preemption: false}": func(c *Loaded) bool {
			return c.Cluster.Tuning.Preempt == model.PreemptsNobody && c.Cluster.Tuning.NoPreemption
		},
		"server: {port: 8086, http: '127.0.0.1:8086'}": func(c *Loaded) bool { return c.Server.HTTP == "127.0.0.1:8086" },
		"scheduling: {placement: best-fit}":            func(c *Loaded) bool { return c.Cluster.Tuning.Placement.String() == "best_fit" },
		"scheduling: {half_life: 3d}":                  func(c *Loaded) bool { return c.Cluster.Tuning.HalfLife == 72*time.Hour },
		"scheduling: {max_queue_size: none}":           func(c *Loaded) bool { return c.Cluster.Queued == model.Unlimited },
		"address: [a:1, b:2]":                          func(c *Loaded) bool { return slices.Equal(c.Client.Address, []string{"a:1", "b:2"}) },
		"address: 'a:1, b:2'":                          func(c *Loaded) bool { return slices.Equal(c.Client.Address, []string{"a:1", "b:2"}) },
		"agent: {xids: {63: ignore}, keep_gb: 1.5}": func(c *Loaded) bool {
			return c.Agent.GPUs.Xids["63"] == "ignore" && c.Agent.Keep.Bytes == 1.5e9
		},
		"agent: {umask: 0o027}": func(c *Loaded) bool { return c.Agent.Ranks.Users.Umask == 0o27 },
	} {
		if got, err := loadText(t, text); err != nil || !check(got) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
