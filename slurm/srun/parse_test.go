package srun

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
)

func variables(pairs string) func(string) (string, bool) {
	vars := map[string]string{}
	for pair := range strings.FieldsSeq(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		value, set := vars[name]
		return value, set
	}
}

// TestParse checks what command lines and variables mean.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, vars string
		want       Options
	}{
		{"", "", Options{}},
		{"-n 4 -c2", "", Options{Size: Size{Tasks: 4, CPUsPerTask: 2, Exact: true}}},
		{"", "SLURM_NTASKS=8 SLURM_CPUS_PER_TASK=3 SLURM_NTASKS_PER_NODE=4", Options{Size: Size{FromJob: 8, CPUsPerTask: 3, TasksPerNode: 4}}},
		{"", "SRUN_CPUS_PER_TASK=2 SLURM_CPUS_PER_TASK=3", Options{Size: Size{CPUsPerTask: 2}}},
		{"-n1", "SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4", Options{Size: Size{Tasks: 1, Exact: true}}},
		{"-N 2-3", "SLURM_NTASKS_PER_NODE=4", Options{Size: Size{Nodes: form.NodeCount{Min: 2, Max: 3}}}},
		{"-w n[1-2] -x n3", "", Options{Size: Size{NodeList: []string{"n1", "n2"}, Exclude: []string{"n3"}}}},
		{"-v -vv -Q", "", Options{Verbose: 3, Quiet: true}},
		{"-m plane=4", "SLURM_DISTRIBUTION=cyclic", Options{Size: Size{Kind: environ.Plane, Plane: 4, Distributed: true}}},
		{"", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=3", Options{Size: Size{Kind: environ.Plane, Plane: 3, Distributed: true}}},
		{"", "SLURM_DISTRIBUTION=cyclic:block", Options{Size: Size{Kind: environ.Cyclic, Distributed: true}}},
		{"--gpus-per-task=a100:2", "", Options{Size: Size{GPUsPerTask: 2, HoldsGPUs: true, Exact: true}}},
		{"", "SLURM_GPUS_PER_TASK=2", Options{Size: Size{GPUsPerTask: 2}}},
		{"--gres=gpu:3", "", Options{Size: Size{GPUsPerNode: 3, HoldsGPUs: true, Exact: true}}},
		{"--gres=none -G 0", "", Options{Size: Size{NoGPUs: true, HoldsGPUs: true, Exact: true}}},
		{"--exact --overlap", "", Options{Size: Size{Overlap: true}}},
		{"--exclusive", "SLURM_OVERLAP=0", Options{Size: Size{Exact: true}}},
		{"-l -u -o out -e err -i none --open-mode=append", "", Options{Files: Files{Stdout: "out", Stderr: "err", Stdin: "none", Append: true, Label: true, Unbuffered: true}}},
		{"", "SLURM_LABELIO=1 SLURM_STDOUTMODE=o SLURM_OPEN_MODE=a", Options{Files: Files{Stdout: "o", Append: true, Label: true}}},
		{"-K -W 30 -J name -D sub -Q", "", Options{KillOnBad: true, Wait: 30 * time.Second, Name: "name", Chdir: "sub", Quiet: true}},
		{"-K0", "SLURM_KILL_BAD_EXIT=1", Options{}},
		{"--export=A,B=1", "SLURM_EXPORT_ENV=NONE", Options{Export: "A,B=1"}},
		{"", "SLURM_EXPORT_ENV=NONE", Options{Export: "NONE"}},
		{"--jobid=12", "", Options{Job: form.JobRef{Job: 12}, JobGiven: true}},
		{"-I", "", Options{Immediate: -1}},
		{"-I5", "", Options{Immediate: 5 * time.Second}},
		{"--mpi=none --cpu-bind=cores --gpu-bind=none -A x -p y -t 10 --mem=0 --gres-flags=x -O", "", Options{}},
		{"--ntasks-per-n=2", "", Options{Size: Size{TasksPerNode: 2, Exact: true}}},
	} {
		got, err := Parse(append(strings.Fields(c.line), "prog", "-n", "x"), variables(c.vars))
		if err != nil || !reflect.DeepEqual(got.Options, c.want) || !slices.Equal(got.Command, []string{"prog", "-n", "x"}) {
			t.Errorf("%q with %q is %+v %q, %v; it should be %+v", c.line, c.vars, got.Options, got.Command, err, c.want)
		}
	}
}

// TestParseErrors checks that wrong command lines are refused, with the place and the remedy.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, vars, want string }{
		{"", "", "there is no program"},
		{"-n 0 x", "", `--ntasks: "0" is not a whole number from 1`},
		{"-n 100000 x", "", "is more than 65536"},
		{"x", "SLURM_NTASKS=two", `the variable SLURM_NTASKS: "two"`},
		{"x", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=x", "the variable SLURM_DIST_PLANESIZE"},
		{"--foo x", "", "--foo: there is no such option of srun"},
		{"-m arbitrary x", "", "is not one of: block, cyclic, plane=N"},
		{"--multi-prog", "", "there is no program"},
		{"--bcast x", "", "--bcast: the option is refused"},
		{"-M a x", "", "a cluster of Berth is one cluster"},
		{"-Z x", "", "a step runs inside of a job"},
		{"-S 1 x", "", "Berth keeps no cores"},
		{"--container-image=a//b x", "", "--container-image: "},
		{"--container-mounts=a:b x", "", `--container-mounts: the mount of a: the target "b" is no absolute path`},
		{"--container-save=a x", "", "keep the changed files on the node by --container-name=NAME"},
		{"-w a -x a x", "", "node a is in --nodelist, too"},
		{"-w a,b -N1 x", "", "--nodelist: it names 2 nodes"},
		{"-r 1 -w a x", "", "--relative"},
		{"-w ./file x", "", "is the name of a file"},
		{"-K2 x", "", "is not one of: 0, 1"},
		{"x : -n1 y", "", "heterogeneous"},
		{"--export==x y", "", "no name of a variable"},
		{"--ntask=2 x", "", "--ntask: the name is ambiguous"},
		{"-n", "", "the value is missing"},
	} {
		if _, err := Parse(strings.Fields(c.line), variables(c.vars)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %q: %v; it should have %q", c.line, c.vars, err, c.want)
		}
	}
}

// TestNotes checks that an option whose absence may be felt is named.
func TestNotes(t *testing.T) {
	t.Parallel()
	if r, err := Parse([]string{"--mpi=pmix", "x"}, variables("")); err != nil || len(r.Notes) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNamesAreUnique checks that each name and letter belongs to one option, and that --help has all that are not refused.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range table() {
		names := append([]string{e.Name}, e.Others...)
		if e.Short != 0 {
			names = append(names, string(e.Short))
		}
		for _, name := range names {
			if seen[name] {
				t.Errorf("%s belongs to two options", name)
			}
			seen[name] = true
		}
		if e.refused == "" && !strings.Contains(Help(), "--"+e.Name) {
			t.Errorf("--help lacks --%s", e.Name)
		}
	}
}

// TestEnvironment checks which variables tasks get.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	all := []string{"A=1", "B=2", "SLURM_JOB_ID=7", "BERTH_NODE=a", "A=3"}
	for export, want := range map[string][]string{
		"":          {"A=3", "B=2", "SLURM_JOB_ID=7", "BERTH_NODE=a"},
		"ALL,C=5":   {"A=3", "B=2", "SLURM_JOB_ID=7", "BERTH_NODE=a", "C=5"},
		"NONE":      {"SLURM_JOB_ID=7", "BERTH_NODE=a"},
		"B,A=9":     {"B=2", "SLURM_JOB_ID=7", "BERTH_NODE=a", "A=9"},
		"NIL":       {"SLURM_JOB_ID=7", "BERTH_NODE=a"},
		"ALL,B=new": {"A=3", "B=new", "SLURM_JOB_ID=7", "BERTH_NODE=a"},
	} {
		if got := Environment(all, export); !slices.Equal(got, want) {
			t.Errorf("--export=%s: %q; it should be %q", export, got, want)
		}
	}
}
