package root

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli/slurm"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// sbatch runs a command line of sbatch against the fake.
func (f *fakeAPI) sbatch(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	var o, e strings.Builder
	return slurm.Find("sbatch")(args, &o, &e), o.String(), e.String()
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "train.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const slurmScript = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 # comment\n#SBATCH --hint=nomultithread\nsrun train\n"

// TestSbatch checks what sbatch prints, which programs read, and what it sends.
func TestSbatch(t *testing.T) {
	f := newFakeAPI(t)
	path := script(t, slurmScript)
	t.Setenv("MARK", "1")
	code, out, errs := f.sbatch(t, "-J", "x", "--mem=4G", path, "a b")
	if code != 0 || out != "Submitted batch job 43\n" || !strings.HasPrefix(errs, "sbatch: --hint: ") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	g := &f.got
	if g.Name != "x" || *g.GPUs != 8 || *g.Nodes != 2 || g.Script != slurmScript || !slices.Equal(g.Args, []string{"a b"}) || g.Shell["MARK"] != "1" ||
		g.Slurm == nil || g.Slurm.ScriptName != path || *g.HostMemory != 4.096 || g.User == "" {
		t.Errorf("sent %+v", g)
	}
	if code, out, errs := f.sbatch(t, "--parsable", "-Q", path); code != 0 || out != "43\n" || errs != "" {
		t.Errorf("parsable and quiet: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := f.sbatch(t, "--wrap=make all"); code != 0 || out != "Submitted batch job 43\n" || f.got.Name != "wrap" || !strings.Contains(f.got.Script, "\nmake all\n") {
		t.Errorf("wrap: exit %d, %q, sent %+v", code, out, f.got)
	}
	if code, out, errs := f.sbatch(t, "--test-only", path); code != 0 || out != "" || !strings.Contains(errs, "sbatch: Job would start at ") {
		t.Errorf("test only: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := f.sbatch(t, "--version"); code != 0 || !strings.HasPrefix(out, "slurm 22.05") {
		t.Errorf("version: exit %d, %q", code, out)
	}
	if code, out, _ := f.sbatch(t, "--help"); code != 0 || !strings.Contains(out, "docs/slurm.md") {
		t.Errorf("help: exit %d, %q", code, out)
	}
}

// TestSbatchRefuses checks that what is invalid is refused on standard error, in Slurm's form, and nothing is sent.
func TestSbatchRefuses(t *testing.T) {
	f := newFakeAPI(t)
	path := script(t, slurmScript)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(t.TempDir(), "gone.sh")}, "sbatch: error: Unable to open file "},
		{[]string{"--nodez=2", path}, "sbatch: error: the command line: --nodez"},
		{[]string{script(t, "#!/bin/sh\r\n#SBATCH -n 1\r\n")}, "DOS"},
		{[]string{script(t, "make\n")}, "#!"},
		{[]string{script(t, "#!/bin/sh\n#SBATCH --job-name='a\n")}, "line 2"},
		{[]string{script(t, "\xef\xbb\xbf#!/bin/sh\n")}, "byte order mark"},
		{[]string{script(t, "#!/bin/sh\n#SBATCH --container-image=X\n")}, "line 2 of the script: --container-image"},
		{[]string{script(t, "#!/bin/sh\n"+strings.Repeat("# x\n", 1<<18))}, "larger than"},
		{[]string{"--export=NONE", "--time=never", path}, "--time"},
	} {
		f.got.Script = "none"
		if code, out, errs := f.sbatch(t, c.args...); code == 0 || out != "" || !strings.Contains(errs, c.want) || f.got.Script != "none" {
			t.Errorf("%q: exit %d, %q, %q, sent %q", c.args, code, out, errs, f.got.Script)
		}
	}
}

// TestSubmitInSlurm checks that berth submit reads a script for Slurm as sbatch does, and that its options come over the script's.
func TestSubmitInSlurm(t *testing.T) {
	f := newFakeAPI(t)
	path := script(t, "#!/bin/sh\n#SBATCH -N 2 --gres=gpu:2 -t 1 -b now+1hour -d afterok:7 --hint=x\n")
	code, _, errs := f.berth(t, "submit", "-p", "high", path)
	if code != 0 || !strings.Contains(errs, "Note: --hint: ") {
		t.Fatalf("exit %d, %s", code, errs)
	}
	g := &f.got
	if *g.GPUs != 4 || *g.Nodes != 2 || g.Slurm == nil || *g.Priority != 3 || g.TimeLimit == nil ||
		time.Duration(*g.TimeLimit) != time.Minute || g.Begin == "" ||
		!slices.Equal(g.Dependencies, []string{"afterok:7"}) || g.Shell["PATH"] == "" {
		t.Errorf("sent %+v", g)
	}
	if code, _, errs := f.berth(t, "submit", "-t", "2h", "--export", "NONE", "--deadline", "+9h", path); code != 0 || time.Duration(*g.TimeLimit) != 2*time.Hour || len(g.Shell) != 0 ||
		g.Deadline == "" {
		t.Errorf("exit %d, %s, sent %+v", code, errs, g)
	}
	bad := script(t, "#!/bin/sh\n#SBATCH --gres=gpu:2 --nodez=2\n")
	if code, _, errs := f.berth(t, "submit", bad); code != cmdline.ExitUsage || !strings.Contains(errs, "line 2") || !strings.Contains(errs, "--nodes") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestSrunOutside checks what srun outside of a job refuses, and that salloc names the remedy.
func TestSrunOutside(t *testing.T) {
	f := newFakeAPI(t)
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	for want, args := range map[string][]string{
		"there is no program to run":     {"-n1"},
		"srun: error: --bcast":           {"--bcast", "x"},
		"the command line: --time":       {"--time=never", "true"},
		"the command line: --gpus: \"x:": {"--gpus=x:y", "true"},
	} {
		var o, e strings.Builder
		if code := slurm.Find("srun")(args, &o, &e); code != cmdline.ExitFailure || !strings.Contains(e.String(), want) {
			t.Errorf("%q: exit %d, %s, want %s", args, code, e.String(), want)
		}
	}
	for want, args := range map[string][]string{"slurm 22.05": {"--version"}, "--ntasks": {"--help"}} {
		var o, e strings.Builder
		if code := slurm.Find("srun")(args, &o, &e); code != 0 || !strings.Contains(o.String(), want) {
			t.Errorf("%q: exit %d, %s%s", args, code, o.String(), e.String())
		}
	}
	var o, e strings.Builder
	if code := slurm.Find("srun")([]string{"--nosuch", "true"}, &o, &e); code != 255 {
		t.Errorf("an unknown option: exit %d, %s", code, e.String())
	}
}

// TestSubmitArrayInSlurm checks that an array of the command line counts for Slurm's variables, and dependencies replace those of the
// script.
func TestSubmitArrayInSlurm(t *testing.T) {
	f := newFakeAPI(t)
	path := script(t, "#!/bin/sh\n#SBATCH --array=1-3 -d afterok:7\n")
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "1-3"}, {[]string{"-a", "0-9"}, "0-9"}} {
		if code, _, errs := f.berth(t, append(append([]string{"submit"}, c.args...), path)...); code != 0 || f.got.Slurm.Array != c.want ||
			f.got.Indices != c.want {
			t.Errorf("%q: exit %d, %s, an array of %q, %q", c.args, code, errs, f.got.Indices, f.got.Slurm.Array)
		}
	}
	plain := script(t, "#!/bin/sh\n#SBATCH -d afterok:7\n")
	if code, _, errs := f.berth(t, "submit", "--param", "lr=1,2", "--param", "seed=1..3", "--afterany", "5", plain); code != 0 || f.got.Slurm.Array != "0-5" ||
		!slices.Equal(f.got.Dependencies, []string{"afterany:5"}) {
		t.Errorf("exit %d, %s, an array of %q after %q", code, errs, f.got.Slurm.Array, f.got.Dependencies)
	}
}

// TestSecretsStay checks that tokens are not part of a submission, and that texts that are not UTF-8 are refused.
func TestSecretsStay(t *testing.T) {
	f := newFakeAPI(t)
	path := script(t, slurmScript)
	t.Setenv("RESEARCH_AGENT_USER_AUTH_TOKEN", "secret")
	t.Setenv("BERTH_NODE", "n1")
	if code, _, errs := f.sbatch(t, path); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	for name := range f.got.Shell {
		if name == "RESEARCH_AGENT_USER_AUTH_TOKEN" || name == "BERTH_NODE" {
			t.Errorf("%s is sent", name)
		}
	}
	if f.got.Shell["BERTH_ADDRESS"] == "" {
		t.Error("the address of the cluster is not sent")
	}
	for _, args := range [][]string{{path, "a\xff"}, {"-o", "caf\xe9", path}, {script(t, "#!/bin/sh\n\necho caf\xe9\n")}} {
		if code, _, errs := f.sbatch(t, args...); code != 255 || !strings.Contains(errs, "UTF-8") {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
}
