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
	r, level := NewReloader(first), slog.LevelInfo
	r.On("log.level", func(c *Config) { level = c.Level })

	write("log: {level: debug}\nserver: {http: '127.0.0.1:2'}\ncluster: {name: x}\nagent: {gpu_hot: 70}\n")
	taken, left, err := r.Reload()
	if err != nil || !slices.Equal(taken, []string{"log.level"}) || level != slog.LevelDebug {
		t.Errorf("taken over: %v, %v; the level is %v", taken, err, level)
	}
	if text := strings.Join(left, "\n"); len(left) != 2 || !strings.Contains(text, "server.http counts from the next start on") ||
		!strings.Contains(text, "cluster.name belongs to the cluster") {
		t.Errorf("left: %v", left)
	}
	write("log: {level: loud}\n")
	if _, _, err := r.Reload(); err == nil || level != slog.LevelDebug {
		t.Errorf("a wrong file: %v, the level is %v", err, level)
	}
	write("log: {level: warn}\nserver: {http: '127.0.0.1:2'}\ncluster: {name: x}\n")
	if taken, left, err = r.Reload(); err != nil || len(taken) != 1 || len(left) != 0 || level != slog.LevelWarn {
		t.Errorf("mended: %v, %v, %v", taken, left, err)
	}
}

// part is a part of a file with a form of its own.
type part struct {
	Name  string            `yaml:"name"`
	Each  map[string]part   `yaml:"each"`
	List  []part            `yaml:"list"`
	Count int               `yaml:"count"`
	Texts map[string]string `yaml:"texts"`
}

// A part of a file is read into its owner's type; what is wrong in it tells its line.
func TestTrees(t *testing.T) {
	var p part
	check := func() error {
		if p.Count < 0 {
			return errors.New("count must not be negative")
		}
		return nil
	}
	rows := []Setting{{Name: "auth.keys", For: OfServer, Means: "keys", Secret: true, Value: Tree(&p, check)}}
	read := func(text string) error {
		l := &Loaded{Config: New(), File: "f.yaml", table: newTable(rows), origins: map[string]Origin{}}
		given, err := readFile(l.File, []byte(text), l.table)
		if err == nil {
			err = l.apply(FromFile, given)
		}
		return err
	}
	if err := read("auth:\n  keys:\n    name: a\n    each: {x: {count: 2}}\n    list: [{name: b}]\n    texts: {k: v}\n"); err != nil {
		t.Fatal(err)
	}
	if p.Name != "a" || p.Each["x"].Count != 2 || p.List[0].Name != "b" || p.Texts["k"] != "v" {
		t.Errorf("it became %+v", p)
	}
	if rows[0].Shown() != "(secret)" || !strings.Contains(rows[0].Value.Text(), "name: a") {
		t.Errorf("it is shown as %q, is %q", rows[0].Shown(), rows[0].Value.Text())
	}
	for text, want := range map[string]string{
		"auth:\n  keys:\n    nme: a\n":                   "f.yaml:3: there is no nme here; did you mean name?",
		"auth:\n  keys:\n    each: {x: {cuont: 2}}\n":    "f.yaml:3: there is no cuont here; did you mean count?",
		"auth:\n  keys:\n    list:\n      - nam: 2\n":    "f.yaml:4: there is no nam here",
		"auth:\n  keys:\n    name: a\n    name: b\n":     "f.yaml:4: name stands in line 3 already",
		"auth:\n  keys:\n    texts: {a: 1, a: 2}\n":      "f.yaml:3: a stands in line 3 already",
		"auth:\n  keys:\n    count: many\n":              "f.yaml:3: cannot unmarshal",
		"auth:\n  keys: [1]\n":                           "f.yaml:2: cannot unmarshal",
		"auth:\n  keys:\n    count: -1\n":                "f.yaml:3: count must not be negative",
		"auth:\n  keys: &a\n    each: {x: *a}\n":         "anchors are not followed",
		"auth:\n  keys:\n    list: [&a {name: x}, *a]\n": "anchors are not followed",
	} {
		if err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
	if err := rows[0].Value.Set([]string{"x"}); err == nil {
		t.Error("a variable can give a part of a file")
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
