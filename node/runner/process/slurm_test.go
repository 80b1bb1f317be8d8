package process

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// launcher makes a program in place of berth that shows how it was called: its arguments, the file of the job, and the environment.
func launcher(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "berth")
	text := "#!/bin/sh\n[ \"$2\" = \"$BERTH_SLURM\" ] || exit 9\ncat \"$BERTH_SLURM\"\n(echo \"$1\"; stat -c '%a %U' \"$BERTH_SLURM\"; command -v srun; readlink \"$(command -v srun)\"; env) >&2\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) { // for accounts
		if err := os.Chmod(d, 0o755); err != nil {
			break
		}
	}
	return path
}

// inSlurm makes a rank one of a job in Slurm's language: the third task of an array.
func inSlurm(r *runner.Record) {
	inGang(r)
	r.Job.Node, r.Job.Address = "n1", "10.0.0.2"
	r.Rank.Job, r.Rank.Task, r.Rank.N = 12, 3, 2
	r.GPUs = []runner.GPU{{ID: "GPU-b", Index: 2}, {ID: "MIG-c", Index: 5}}
	s := &r.Job.Spec
	s.Slurm = `{"partition":"gpu","tasks":3,"tasks_per_node":2,"cpus_per_task":4,"array":"1-9:2","submit_dir":"/users/ann/x","asked":{"ntasks":3}}`
	s.WorkDir = "/users/ann/gone"
	s.Name, s.Project, s.TimeLimit, s.WarnSignal = "train", "vision", time.Hour, "USR1"
}

// TestSlurm checks that a job in Slurm's language is started by berth, with a file that describes the job.
func TestSlurm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ranks.Close()
	b.rules.Client = launcher(t)
	b.open()
	k := b.rank("train --fast", inSlurm).start()
	k.exit()
	errs := k.output(runner.StderrFile)
	f := &jobfile.File{}
	if err := json.Unmarshal([]byte(k.output(runner.StdoutFile)), f); err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	j := &f.Job
	if j.ID != 1000012000003 || j.Name != "train" || j.Account != "vision" || j.Partition != "gpu" || j.Restarts != 1 || j.Array.Job != 12 ||
		j.Array.Task != 3 || j.Array.Count != 5 || j.Array.Min != 1 || j.Array.Max != 9 || j.Array.Step != 2 || j.End-j.Start != 3600 {
		t.Errorf("the job is described as %+v", j)
	}
	if f.Rank != 1 || f.Secret != "abcd" || len(f.Ranks) != 2 || f.Ranks[0] != (jobfile.Rank{Address: "10.0.0.1", Port: 4242}) || j.ScriptNodeIP != "10.0.0.1" {
		t.Errorf("its ranks are %+v, this is %d, the script runs at %s", f.Ranks, f.Rank, j.ScriptNodeIP)
	}
	if f.Signal != "USR1" || !slices.Equal(f.Command, []string{"/bin/sh", "-c", "train --fast"}) || f.WorkDir != "/users/ann/gone" || f.Request.CPUsPerTask != 4 {
		t.Errorf("it runs %q in %q, with the signal %q, %+v", f.Command, f.WorkDir, f.Signal, f.Request)
	}
	if n := j.Nodes; len(n) != 2 || n[0].Name != "n0" || n[0].Tasks != 2 || n[0].Cores != 8 || len(n[0].GPUs) != 0 || n[1].Tasks != 1 ||
		!slices.Equal(n[1].GPUs, []int{2, 5}) || !slices.Equal(n[1].Devices, []string{"2", "MIG-c"}) {
		t.Errorf("its nodes are %+v", n)
	}
	bin := filepath.Join(f.Folder, "bin", "srun")
	for _, want := range []string{"slurm-batch\n600 ", "\n" + bin + "\n" + b.rules.Client + "\n", "\nBERTH_NODE_RANK=1\n"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the launcher does not find %q in %s", want, errs)
		}
	}
	for _, not := range []string{"\nPET_", "\nMASTER_", "\nWORLD_SIZE"} {
		if strings.Contains(errs, not) {
			t.Errorf("the job has a variable %q that scripts for Slurm do not expect: %s", not, errs)
		}
	}
}

// TestSlurmScript checks what a job has without names of its own: the partition of all clusters, the name of this account, and the name
// that scripts for Slurm look for. The launcher starts although the folder of the script is not there.
func TestSlurmScript(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ranks.Close()
	b.rules.Client = launcher(t)
	b.open()
	k := b.rank("", func(r *runner.Record) {
		inSlurm(r)
		r.Job.Spec.Slurm, r.Job.Spec.WorkDir, r.Job.Script = `{"tasks":1}`, "/no/such/folder", true
	})
	script := filepath.Join(k.f.Path(), runner.SlurmFile)
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	k.start().exit()
	f := &jobfile.File{}
	if err := json.Unmarshal([]byte(k.output(runner.StdoutFile)), f); err != nil {
		t.Fatalf("%v: %s", err, k.output(runner.StderrFile))
	}
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if f.Job.Partition != "main" || f.Job.User != self.Username || f.WorkDir != "/no/such/folder" || !slices.Equal(f.Command, []string{script}) {
		t.Errorf("partition %q, user %q, folder %q, command %q", f.Job.Partition, f.Job.User, f.WorkDir, f.Command)
	}
}

// TestSlurmUnderAnAccount checks that the account of the job can read the file, and finds the program.
func TestSlurmUnderAnAccount(t *testing.T) {
	t.Parallel()
	client := launcher(t)
	images := filepath.Join(t.TempDir(), "images")
	b := isolated(t, func(r *Rules) { r.Client, r.Images, r.Daemon = client, images, client })
	k := b.rank("true", func(r *runner.Record) {
		ada(r)
		inSlurm(r)
	}).start()
	if got := k.exit(); got.Code != 0 {
		t.Fatalf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
	if errs := k.output(runner.StderrFile); !strings.Contains(errs, "600 "+stranger+"\n") || !strings.Contains(errs, client+"\n") {
		t.Errorf("it found %s", errs)
	}
	account, err := user.Lookup(stranger)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(images, account.Uid))
	if err != nil {
		t.Fatal("the account has no folder for images: ", err)
	}
	if stat, is := info.Sys().(*syscall.Stat_t); !is || strconv.Itoa(int(stat.Uid)) != account.Uid || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder for images is %v of %v", info.Mode(), info.Sys())
	}
}

// TestSlurmWithoutClient checks that a node without berth says so.
func TestSlurmWithoutClient(t *testing.T) {
	t.Parallel()
	k := newBench(t).rank("true", inSlurm).start()
	if got := k.exit(); got.Code == 0 || !got.Refused || !strings.Contains(k.output(runner.StderrFile), "not installed next to berthd") {
		t.Errorf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
}

// TestSlurmWarned checks that of a job in Slurm's language only the first process, which passes signals on, is asked for a checkpoint, and
// gets the warning by a signal of its own, which is no stop signal.
func TestSlurmWarned(t *testing.T) {
	t.Parallel()
	client := filepath.Join(t.TempDir(), "berth")
	text := "#!/bin/sh\ntrap 'echo stop >> warned' TERM\ntrap 'echo warning >> warned' 40\n: >> warned\n" +
		"sh -c 'trap \"echo child >> warned\" USR1 40; : > ready; while :; do sleep 0.01; done' &\n" +
		"while [ ! -e ready ]; do sleep 0.01; done\nn=0\ntrap 'n=$((n+1)); echo first >> warned' USR1\n" +
		"while [ $n -lt 10 ] || ! grep -q warning warned; do sleep 0.01; done\nkill -9 $!\nexit 3\n"
	if err := os.WriteFile(client, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	b := under(t, Rules{Client: client})
	k := b.rank("true", func(r *runner.Record) {
		inSlurm(r)
		r.Frozen.TimeLimit = time.Hour
		s := &r.Job.Spec
		s.WarnSignal, s.WarnBefore, s.CheckpointSignal, s.CheckpointInterval = "TERM", 2*time.Hour, "USR1", time.Millisecond
	}).start()
	if got := k.exit(); got.Code != 3 {
		t.Fatalf("ended with %+v: %s", got, k.output(runner.StderrFile))
	}
	if got := k.file("warned"); strings.Contains(got, "child") || strings.Contains(got, "stop") || !strings.Contains(got, "first") {
		t.Errorf("warned: %s", got)
	}
}

// TestSlurmStopped checks that of a job in Slurm's language only the launcher, which passes signals on, gets the stop signal: processes in
// other sessions do not get it at half of the grace either.
func TestSlurmStopped(t *testing.T) {
	t.Parallel()
	client := filepath.Join(t.TempDir(), "berth")
	text := "#!/bin/sh\ntrap 'echo launcher >> stopped' TERM\n" +
		"setsid sh -c 'trap \"echo child >> stopped\" TERM; : > ready; while :; do sleep 0.01; done' &\n" +
		"while [ ! -e ready ]; do sleep 0.01; done\necho up > up\nwhile :; do sleep 0.01; done\n"
	if err := os.WriteFile(client, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	b := under(t, Rules{Client: client})
	k := b.rank("true", func(r *runner.Record) {
		inSlurm(r)
		r.Frozen.Grace = time.Second
	}).start()
	k.file("up")
	k.order(runner.Orders{Run: true, Stop: model.ReasonCancel})
	k.exit()
	if got := k.file("stopped"); got != "launcher" {
		t.Errorf("stopped: %q", got)
	}
}
