package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A running program takes over what it can, says why it leaves the rest, and keeps all
// as it was if anything is wrong.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "berth.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log: {level: info}\nserver: {http: '127.0.0.1:1'}\n")
	first, err := Load(Source{Program: OfServer, File: path})
	if err != nil {
		t.Fatal(err)
	}
	r, level := NewReloader(first, func(l *Loaded) error {
		if l.Server.HTTP == l.Server.Listen {
			return errors.New("two at one address")
		}
		return nil
	}), slog.LevelInfo
	r.On(func(c *Config) { level = c.Log.Level }, "log.level")

	write("log: {level: debug}\nserver: {http: '127.0.0.1:2'}\ncluster: {name: x}\nagent: {gpu_hot: 70}\n")
	taken, left, err := r.Reload()
	if err != nil || !slices.Equal(taken, []string{"log.level"}) || level != slog.LevelDebug {
		t.Errorf("taken over: %v, %v; the level is %v", taken, err, level)
	}
	if text := strings.Join(left, "\n"); len(left) != 2 || !strings.Contains(text, "server.http takes effect at the next start") ||
		!strings.Contains(text, "cluster.name belongs to the cluster") {
		t.Errorf("left: %v", left)
	}
	for _, wrong := range []string{"log: {level: loud}\n", "log: {level: error}\nserver: {http: '127.0.0.1:7000'}\n"} {
		write(wrong)
		if _, _, err := r.Reload(); err == nil || level != slog.LevelDebug {
			t.Errorf("%q: %v, the level is %v", wrong, err, level)
		}
	}
	write("log: {level: warn}\nserver: {http: '127.0.0.1:2'}\ncluster: {name: x}\n")
	if taken, left, err = r.Reload(); err != nil || len(taken) != 1 || len(left) != 0 || level != slog.LevelWarn {
		t.Errorf("mended: %v, %v, %v", taken, left, err)
	}
}

// A file that a setting names counts like the setting: another content is another value.
// What one setting of a group brings is taken over once.
func TestReloadOfFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("berth.yaml", "auth: {keys_file: '"+at("keys")+"', rate_limit: 5}\n")
	write("keys", "one")
	first, err := Load(Source{Program: OfServer, File: at("berth.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	r, times := NewReloader(first, func(*Loaded) error { return nil }), 0
	r.On(func(*Config) { times++ }, "auth.keys_file", "auth.rate_limit")
	for i, step := range []struct {
		change func()
		taken  []string
	}{
		{func() {}, nil},
		{func() { write("keys", "two") }, []string{"auth.keys_file"}},
		{func() {}, nil},
		{func() {
			write("keys", "three")
			write("berth.yaml", "auth: {keys_file: '"+at("keys")+"', rate_limit: 6}\n")
		}, []string{"auth.keys_file", "auth.rate_limit"}},
		{func() { write("berth.yaml", "auth: {rate_limit: 6}\n") }, []string{"auth.keys_file"}},
	} {
		before := times
		step.change()
		taken, left, err := r.Reload()
		if err != nil || len(left) > 0 || !slices.Equal(taken, step.taken) || (times != before) != (len(taken) > 0) || times > before+1 {
			t.Errorf("step %d: taken over %v, left %v, %v, told %d times", i, taken, left, err, times-before)
		}
	}
	late := int64(0)
	if r.On(func(c *Config) { late = c.Server.Auth.Rate }, "auth.rate_limit"); late != 6 {
		t.Errorf("a late caller gets a rate of %d, and it is 6 by now", late)
	}
}

func TestExplain(t *testing.T) {
	for name, want := range map[string]string{
		"server.http":                  "BERTH_SERVER_HTTP",
		"BERTH_SERVER_HTTP":            "server.http: ",
		"--idle-stop":                  "jobs.idle_stop: ",
		"PORT":                         "PORT is another name of server.http",
		"scheduler.max_queue_size":     "another name of scheduling.max_queue_size",
		"policies.enable_preemption":   "another name of scheduling.no_preemption",
		"RESEARCH_AGENT_RAY_HEAD_NODE": "has no effect: ",
		"log.level":                    "SIGHUP",
	} {
		if got, err := Explain(name); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	if _, err := Explain("server.htpp"); err == nil || !strings.Contains(err.Error(), "did you mean server.http?") {
		t.Errorf("it says %v", err)
	}
}

// Whatever stands in a file or a variable, reading it ends, without a panic, and what
// it leads to can be written and read again.
func FuzzLoad(f *testing.F) {
	f.Add(Example(), "PORT=8086")
	f.Add("server: {port: 1, http: 'a:2'}\nauth: {api_keys: {a: b}}", "BERTH_AGENT_XIDS=63=ignore")
	f.Add("a: &a [*a]\nserver: *a\n<<: *a", "BERTH_SCHEDULING_DEPTH=-1")
	f.Add("jobs:\n  idle_stop: 1e999\n---\n", "RESEARCH_AGENT_MAX_QUEUE_SIZE=\xff")
	f.Fuzz(func(t *testing.T, text, variable string) {
		got, err := loadText(t, text, variable)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		again := New()
		rows := again.Settings()
		for i, row := range got.Rows() {
			if row.Value.shape() == isPart {
				continue
			}
			if err := rows[i].Value.Set([]string{row.Value.Text()}); err != nil || rows[i].Value.Text() != row.Value.Text() {
				t.Errorf("%s does not take its own value %q: %v", row.Name, row.Value.Text(), err)
			}
		}
		for _, b := range got.Cluster.Changes(Cluster{}) {
			if err := b.Validate(); err != nil {
				t.Errorf("%s is not allowed: %v", b.Kind(), err)
			}
		}
	})
}
