package intake

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

var update = flag.Bool("update", false, "write what is made of the table of fields")

// generated stands in docs/api.md between what is written by hand.
var generated = regexp.MustCompile(`(?s)(<!-- made of the table of job fields -->\n).*(<!-- end of the table -->\n)`)

// The table in the documentation is made of the table of fields.
func TestGeneratedTableIsFresh(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "api.md")
	old, err := os.ReadFile(path)
	if err != nil || !generated.Match(old) {
		t.Fatalf("docs/api.md has no room for the table: %v", err)
	}
	want := generated.ReplaceAll(old, []byte("${1}"+strings.ReplaceAll(reference(), "$", "$$")+"${2}"))
	if bytes.Equal(old, want) {
		return
	}
	if !*update {
		t.Fatal("docs/api.md is stale: go test ./httpapi/intake -run TestGenerated -update")
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// reference returns the table of fields for the documentation.
func reference() string {
	var b strings.Builder
	b.WriteString("| field | form | allowed | option | meaning |\n|---|---|---|---|---|\n")
	quote := func(s string) string { return "`" + s + "`" }
	for _, f := range Fields() {
		names, options := []string{quote(f.Name)}, []string{}
		for _, other := range f.Aliases {
			names = append(names, quote(other))
		}
		for _, o := range f.Flags {
			if o.Short != "" {
				options = append(options, quote("-"+o.Short))
			}
			options = append(options, quote("--"+o.Name))
		}
		cells := []string{
			strings.Join(names, ", "), f.Kind, f.Bounds, strings.Join(options, ", "), strings.ReplaceAll(f.Doc, "|", `\|`),
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// The page's options are made of the table of fields.
func TestGeneratedOptionsOfThePageAreFresh(t *testing.T) {
	path, want := filepath.Join("..", "..", "page", "src", "lib", "options.ts"), optionsOfThePage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != want {
		t.Fatalf("%s is stale (%v): go test ./httpapi/intake -run TestGenerated -update, then make page", path, err)
	}
}

// optionsOfThePage returns a module of the page with the fields that one option sets.
func optionsOfThePage() string {
	var b strings.Builder
	b.WriteString("// Made of the table of job fields: go test ./httpapi/intake -run TestGenerated -update\n\n" +
		"// options are the options of \"berth submit\" that set one field of a submission each: the names of the field, the option, and its form.\n" +
		"export const options: readonly [fields: readonly string[], option: string, form: \"value\" | \"switch\" | \"repeat\"][] = [\n")
	for _, f := range Fields() {
		if len(f.Flags) != 1 {
			continue
		}
		flag, form := f.Flags[0], "value"
		switch flag.Form {
		case FormSwitch:
			form = "switch"
		case FormRepeat:
			form = "repeat"
		case FormText, FormNumber, FormList, FormCodes:
		}
		name := "--" + flag.Name
		if flag.Short != "" {
			name = "-" + flag.Short
		}
		names := append([]string{f.Name}, f.Aliases...)
		fmt.Fprintf(&b, "  [[\"%s\"], \"%s\", \"%s\"],\n", strings.Join(names, `", "`), name, form)
	}
	return b.String() + "];\n"
}

// Every field of a request is in the table under one name, with its meaning; names of options are given once.
func TestTheTableIsComplete(t *testing.T) {
	var names, inTable, options []string
	for f := range reflect.TypeFor[wire.Submit]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if f.Tag.Get("doc") != "" || f.Tag.Get("minimum") != "" {
			t.Errorf("%s is described by its tags, which the table replaces", name)
		}
	}
	for _, f := range Fields() {
		inTable = append(append(inTable, f.Name), f.Aliases...)
		if f.Doc == "" || f.Kind == "" {
			t.Errorf("%s has no meaning or no kind", f.Name)
		}
		for _, o := range f.Flags {
			if options = append(options, "--"+o.Name); o.Short != "" {
				options = append(options, "-"+o.Short)
			}
			if o.Help == "" {
				t.Errorf("--%s has no help", o.Name)
			}
		}
	}
	for _, list := range [][]string{names, inTable, options} {
		slices.Sort(list)
		if once := slices.Compact(slices.Clone(list)); len(once) != len(list) {
			t.Errorf("a name is there twice: %v", list)
		}
	}
	if !slices.Equal(names, inTable) {
		t.Errorf("a request has the fields\n%v\nthe table\n%v", names, inTable)
	}
}

// full returns a request with a value for every field that an export has, and not the usual one.
func full() *wire.Submit {
	ptr := func(d time.Duration) *wire.Duration { return new(wire.Duration(d)) }
	return &wire.Submit{
		RunID: "exp 1", Name: "train", User: "ann", Project: "vision", Args: []string{"python", "a b.py"}, WorkDir: "/data",
		GPUs: new(int64(8)), Nodes: new(int64(2)), MinGPUs: new(int64(4)), Lead: new(true), CPUs: new(int64(4)), GPUType: "h100",
		GPUMemory: new(79.999), HostMemory: new(16.5),
		Constraint: "zone=a,!spot", Nodelist: []string{"n[1-3]"}, Exclude: []string{"n2"}, Placement: "spread",
		Priority: new(int64(7)), TimeLimit: ptr(3 * time.Hour), Estimate: ptr(time.Hour), MaxRetries: new(int64(3)), RetryOn: []int64{137, 75},
		Preemptible: new(true), Hold: new(true), OnLost: "fail", DisconnectGrace: ptr(time.Hour), StopSignal: "INT", Grace: ptr(0),
		CheckpointSignal: "USR1", CheckpointGrace: ptr(time.Minute), CheckpointInterval: ptr(10 * time.Minute), CheckpointDir: "/c",
		WarnSignal: "USR2", WarnBefore: ptr(5 * time.Minute), IdleStop: ptr(time.Hour), Attached: ptr(time.Minute), Umask: "0027",
		MaxRunning: new(int64(2)), Indices: "0-8:2", Begin: "2026-01-31T20:00:00Z", Deadline: "2026-02-01T20:00:00Z",
		WebhookURL: "https://hooks.example.org/x", Notify: []string{"started", "failed"},
		Slurm: &request.Request{Partition: "gpu", Tasks: 5, Asked: request.Asked{GPUs: "h100:8"}},
	}
}

// What an export has of a job gives the same job again: no field is lost.
func TestEveryFieldComesBack(t *testing.T) {
	sweep, shell := full(), full()
	sweep.Indices, sweep.Params = "", []string{"lr=1,2", "seed=1..3"}
	shell.Args, shell.Command, shell.WebhookURL, shell.Notify = nil, "make", "", nil
	cores := &wire.Submit{Command: "true", GPUs: new(int64(0)), CPUs: new(int64(8)), HostMemory: new(16.5), Nodes: new(int64(2))}
	for i, r := range []*wire.Submit{full(), sweep, shell, {Command: "true"}, cores} {
		first, err := submission(r, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Validate(); err != nil {
			t.Fatal(err)
		}
		back := Request(&model.Job{Spec: first.Spec, Throttle: first.Throttle, Tasks: first.Tasks})
		again, err := submission(back, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("request %d\n%+v\ncomes back as\n%+v", i, first, again)
		}
	}
	spec := reflect.ValueOf(must(t, full()).Spec)
	for i := range spec.NumField() {
		name := spec.Type().Field(i).Name
		derived := []string{"ScriptSum", "Sweep", "Grace"} // of the script; of a sweep; a given 0
		if spec.Field(i).IsZero() && !slices.Contains(derived, name) {
			t.Errorf("the request of this test leaves %s without a value", name)
		}
	}
}

func must(t *testing.T, r *wire.Submit) *command.Submit {
	t.Helper()
	c, err := submission(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A number beyond its bounds is refused under the name of its field, and the bounds themselves are allowed.
func TestNumbersKeepTheirBounds(t *testing.T) {
	for _, f := range Fields() {
		if f.Most == 0 || f.Name == "min_gpus" || f.Name == "gpus_per_node" { // of the number of GPUs
			continue
		}
		for _, v := range []struct {
			n    int64
			fits bool
		}{{f.Least, true}, {f.Most, true}, {f.Least - 1, false}, {f.Most + 1, false}} {
			body := `{"command":"x","` + f.Name + `":` + strconv.FormatInt(v.n, 10)
			switch f.Name {
			case "nodes":
				body += `,"gpu_count":` + strconv.Itoa(max(1, int(v.n)))
			case "array_limit":
				body += `,"array_size":10`
			}
			r, err := Parser().Decode([]byte(body + "}"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = submission(r, 1)
			if p, is := errors.AsType[*problem.Failure](err); v.fits != (err == nil) || is && !strings.Contains(fmt.Sprintf("%+v", *p.Problem), f.Name) {
				t.Errorf("%s = %d: %v", f.Name, v.n, err)
			}
		}
	}
}

// The bounds of priorities in other bodies are those of the table.
func TestPrioritiesHaveOneBound(t *testing.T) {
	priority, _ := reflect.TypeFor[wire.SetPriority]().FieldByName("Priority")
	if priority.Tag.Get("minimum") != "1" || priority.Tag.Get("maximum") != strconv.Itoa(model.MaxPriority) {
		t.Errorf("the body of a change has %s", priority.Tag)
	}
}

// The defaults of jobs come back from a state file.
func TestDefaultsComeBack(t *testing.T) {
	for _, d := range []model.Defaults{
		{},
		{
			Name: "lab", Class: model.ClassHigh, IdleStop: 90 * time.Minute, CheckpointInterval: 10 * time.Second, Commands: model.AudienceAll,
			MemoryPerCPU: 4000,
		},
		{IdleStop: model.MinIdleStop, Commands: model.AudienceUser},
	} {
		saved, err := SavedDefaults(&d)
		if err != nil {
			t.Fatal(err)
		}
		if saved == nil {
			saved = &wire.SavedDefaults{}
		}
		if got, err := defaultsOf(saved); err != nil || got != d {
			t.Errorf("%+v comes back as %+v: %v", d, got, err)
		}
	}
	var members, rows []string
	for f := range reflect.TypeFor[wire.SavedDefaults]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members = append(members, name)
	}
	for _, p := range model.JobDefaults() {
		rows = append(rows, p.Name)
	}
	slices.Sort(members)
	if slices.Sort(rows); !slices.Equal(members, rows) {
		t.Errorf("a state file has the members %v, the table of defaults the rows %v", members, rows)
	}
	for name, saved := range map[string]*wire.SavedDefaults{
		"priority": {Priority: 5}, "idle_stop": {IdleStop: wire.Duration(time.Second)}, "show_commands": {Commands: "some"}, "name": {Name: "\n"},
	} {
		if _, err := defaultsOf(saved); err == nil || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A job without GPUs gets a core, the cluster's memory for each core and no idle_stop unless it asks otherwise.
func TestDefaultsOfJobsWithoutGPUs(t *testing.T) {
	set := &model.Settings{Defaults: model.Defaults{IdleStop: time.Hour, MemoryPerCPU: 3000}}
	for _, v := range []struct {
		request wire.Submit
		want    model.Room
	}{
		{wire.Submit{}, model.Room{CPUs: 1, MemoryMB: 3000}},
		{wire.Submit{CPUs: new(int64(8))}, model.Room{CPUs: 8, MemoryMB: 24_000}},
		{wire.Submit{CPUs: new(int64(8)), HostMemory: new(16.5)}, model.Room{CPUs: 8, MemoryMB: 16_500}},
		{wire.Submit{HostMemory: new(16.5)}, model.Room{CPUs: 1, MemoryMB: 16_500}},
	} {
		v.request.Command, v.request.GPUs = "true", new(int64(0))
		c := must(t, &v.request)
		complete(&v.request, &c.Spec, set)
		if err := c.Validate(); err != nil || c.Spec.Holds() != v.want || c.Spec.IdleStop != 0 {
			t.Errorf("it holds %+v, want %+v, idle_stop %s: %v", c.Spec.Holds(), v.want, c.Spec.IdleStop, err)
		}
	}
	gpus := wire.Submit{Command: "true"}
	c := must(t, &gpus)
	if complete(&gpus, &c.Spec, set); c.Spec.CPUs != 0 || c.Spec.MemoryMB != 0 || c.Spec.IdleStop != time.Hour {
		t.Errorf("a job with GPUs is %+v", c.Spec)
	}
}

// What is about GPUs is refused for a job without GPUs, under the name of its field.
func TestNoGPUFieldsWithoutGPUs(t *testing.T) {
	for field, r := range map[string]wire.Submit{
		"gpus_per_node": {GPUsPerNode: new(int64(1)), Nodes: new(int64(2))}, "min_gpus": {MinGPUs: new(int64(1))}, "gpu_type": {GPUType: "h100"},
		"gpu_memory_gb": {GPUMemory: new(40.0)}, "idle_stop": {IdleStop: new(wire.Duration(time.Hour))}, "preemptible": {Preemptible: new(true)},
	} {
		r.Command, r.GPUs = "true", new(int64(0))
		if _, err := submission(&r, 1); err == nil || !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
