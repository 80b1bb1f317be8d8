package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// patience bounds each wait; a busy machine is slow.
const patience = time.Minute

// TestMain is also the supervisors' main.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		if os.Args[2] == "--exec" {
			os.Exit(Execute())
		}
		if err := Supervise(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bench is a node's run folder and its Runner.
type bench struct {
	t      testing.TB
	dir    string
	run    runner.RunFolder
	rules  Rules
	kernel string
	guard  Guard
	ranks  *Runner
	events map[string][]runner.Event
}

func newBench(t testing.TB) *bench {
	t.Helper()
	boot, err := BootID()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir(), run: runner.RunFolder{Path: ownFolder(t), Boot: boot}, events: map[string][]runner.Event{}}
	b.open()
	t.Cleanup(func() { b.ranks.Close() })
	return b
}

// ownFolder has a name that no other test has: the node's cgroup is called like it.
func ownFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "berth-test-*")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// open is a new agent's beginning.
func (b *bench) open() {
	b.t.Helper()
	ranks, err := New(Options{Run: b.run, Program: supervisorOf(), Rules: b.rules, Kernel: b.kernel, Devices: b.guard})
	if err != nil {
		b.t.Fatal(err)
	}
	b.ranks = ranks
}

// rank is a folder and its record.
type rank struct {
	b *bench
	f *runner.Folder
	r *runner.Record
}

// submitEnv is the environment of a submission, for ranks that have one.
const submitEnv = "BASH_FUNC_twice%%=() {  echo $1 $1\n}\x00CUDA_VISIBLE_DEVICES=7\x00HOME=/users/ann\x00MINE=other"

// rank makes a folder for a command under a lease that has just begun.
func (b *bench) rank(command string, change func(*runner.Record)) *rank {
	b.t.Helper()
	return b.rankWith(runner.Environment{}, command, change)
}

// rankWith is rank with an environment.
func (b *bench) rankWith(env runner.Environment, command string, change func(*runner.Record)) *rank {
	b.t.Helper()
	spec := model.Spec{Command: command, GPUs: 1, OnLost: model.OnLostRequeue, DisconnectGrace: 5 * time.Minute, Grace: time.Second}
	r := &runner.Record{
		Rank: model.RankKey{Job: 7, N: 1}, Boot: b.run.Boot, Nonce: fmt.Sprintf("nonce-%d-%d", os.Getpid(), time.Now().UnixNano()),
		Run: b.run.Path, Frozen: spec.Freeze(), Start: time.Duration(Now().Boot), Job: runner.Job{Spec: spec, Node: "n1", Environ: !env.Empty()},
		Orders: runner.Orders{Run: true},
	}
	change(r)
	dir, err := os.MkdirTemp(b.dir, "rank-*")
	if err != nil {
		b.t.Fatal(err)
	}
	if err := runner.Fill(dir, r, runner.Content{}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.run.SetEnvironment(filepath.Base(dir), &env); err != nil {
		b.t.Fatal(err)
	}
	f, err := runner.Open(dir)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = f.Close() })
	return &rank{b, f, r}
}

func (k *rank) start() *rank {
	k.b.t.Helper()
	if err := k.b.ranks.Start(k.f, k.r); err != nil {
		k.b.t.Fatal(err)
	}
	k.b.t.Cleanup(func() {
		_ = k.b.ranks.Bury(k.r, runner.Status{})
	})
	return k
}

// until waits for an event of the rank.
func (k *rank) until(what string, is func(runner.Event) bool) runner.Event {
	k.b.t.Helper()
	limit := time.After(patience)
	for {
		for _, e := range k.b.events[k.f.Name()] {
			if is(e) {
				return e
			}
		}
		select {
		case e := <-k.b.ranks.Events():
			k.b.events[e.Name] = append(k.b.events[e.Name], e)
		case <-limit:
			k.b.t.Fatalf("not within %s: %s; so far %+v", patience, what, k.b.events[k.f.Name()])
		}
	}
}

func (k *rank) phase(p model.RankPhase) runner.Status {
	k.b.t.Helper()
	return k.until(p.String(), func(e runner.Event) bool { return !e.Gone && e.Status.Phase >= p }).Status
}

func (k *rank) gone() { k.b.t.Helper(); k.until("gone", func(e runner.Event) bool { return e.Gone }) }

// exit waits for the rank's end and the supervisor's.
func (k *rank) exit() model.Exit {
	k.b.t.Helper()
	k.gone()
	e, err := k.f.Exit()
	if err != nil {
		k.b.t.Fatal(err)
	}
	return e
}

func (k *rank) order(o runner.Orders) {
	k.b.t.Helper()
	if err := errors.Join(k.b.run.SetOrders(k.f.Name(), o), k.b.ranks.Wake(k.r)); err != nil {
		k.b.t.Fatal(err)
	}
}

// file waits until the job has written a file in its working folder.
func (k *rank) file(name string) string {
	k.b.t.Helper()
	path := filepath.Join(k.f.Path(), runner.WorkFolder, name)
	var text string
	waitFor(k.b.t, path, func() bool {
		data, err := os.ReadFile(path)
		text = strings.TrimSpace(string(data))
		return err == nil && text != ""
	})
	return text
}

func (k *rank) output(name string) string {
	k.b.t.Helper()
	data, err := os.ReadFile(filepath.Join(k.f.Path(), name))
	if err != nil {
		k.b.t.Fatal(err)
	}
	return string(data)
}

// waitFor looks again and again until a condition holds.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func plain(*runner.Record) {}

// alive reports whether a process runs.
func alive(t testing.TB, pid string) bool {
	t.Helper()
	e, ok := proc.Look(number(t, pid))
	return ok && !e.Gone()
}

// leftOf lists the processes of a rank whose session is not known.
func leftOf(nonce string) []proc.Stat {
	left, _ := remains(all(), nonce, runner.Status{})
	return left
}

func number(t testing.TB, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("%q is no process id", pid)
	}
	return n
}

// What a job's first process ends with is what is written down.
func TestExits(t *testing.T) {
	b := newBench(t)
	for command, want := range map[string]model.Exit{
		"true":                                  {},
		"exit 3":                                {Code: 3},
		"exit 255":                              {Code: 255},
		"kill -TERM $$":                         {Signal: 15},
		"kill -KILL $$":                         {Signal: 9},
		"/does/not/exist":                       {Code: 127},
		"sleep 600 & sleep 600 & exit 5":        {Code: 5},
		"(setsid sleep 600 &) ; exit 6":         {Code: 6},
		"trap '' TERM INT HUP; kill $$; exit 0": {},
	} {
		k := b.rank(command, plain).start()
		got := k.exit()
		if got.Ran <= 0 {
			t.Errorf("%q ran for %s", command, got.Ran)
		}
		if got.Ran = 0; got != want {
			t.Errorf("%q ended with %+v, want %+v", command, got, want)
		}
		if left := leftOf(k.r.Nonce); len(left) > 0 {
			t.Errorf("%q left %+v", command, left)
		}
	}
}

// The job finds what it was promised, and nothing of the agent's environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET", "of the agent")
	b := newBench(t)
	k := b.rankWith(runner.Environment{Job: []byte("MINE=a b\x00WORLD_SIZE=own")}, "env; echo args: \"$0\"", func(r *runner.Record) {
		r.Rank = model.RankKey{Job: 12, Task: 3, N: 2, Rank: 1}
		r.GPUs = []runner.GPU{{ID: "GPU-b", Index: 2}, {ID: "GPU-c", Index: 5}}
		r.Job.Spec.GPUs = 4
		r.Orders.Gang = []model.Mate{{Rank: 0, Node: "n0", Address: "10.0.0.1", Port: 4242}, {Rank: 1, Node: "n1", Address: "10.0.0.2"}}
	}).start()
	k.exit()
	out := k.output(runner.StdoutFile)
	for _, want := range []string{
		"BERTH_JOB_ID=12", "BERTH_TASK=3", "BERTH_ARRAY_INDEX=3", "BERTH_ATTEMPT=2", "BERTH_NODE_RANK=1", "BERTH_NNODES=2",
		"BERTH_NODELIST=n0,n1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=4242", "WORLD_SIZE=own",
		"NODE_RANK=1", "LOCAL_WORLD_SIZE=2", "NPROC_PER_NODE=2", "BERTH_PREEMPTED_COUNT=0",
		"PET_NNODES=2", "PET_NODE_RANK=1", "PET_NPROC_PER_NODE=2", "PET_MASTER_ADDR=10.0.0.1", "PET_MASTER_PORT=4242", "MINE=a b",
		"CUDA_VISIBLE_DEVICES=2,5", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "BERTH_GPU_UUIDS=GPU-b,GPU-c", "HOME=" + os.Getenv("HOME"),
	} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("the job does not find %s in:\n%s", want, out)
		}
	}
	for _, bad := range []string{"SECRET", "GOMAXPROCS", "GOGC"} {
		if strings.Contains(out, bad) {
			t.Errorf("the job finds %s", bad)
		}
	}
}

func TestArguments(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*runner.Record)
		script string
		want   string
	}{
		"words":              {func(r *runner.Record) { r.Job.Spec.Argv, r.Job.Spec.Command = true, "printf\x00%s|\x00a b\x00" }, "", "a b||"},
		"a script":           {func(r *runner.Record) { r.Job.Script, r.Job.Spec.Command = true, "" }, "#!/bin/sh\necho $#", "0\n"},
		"a bare script":      {func(r *runner.Record) { r.Job.Script, r.Job.Spec.Command = true, "'x y' z" }, "echo $# $1", "2 x y\n"},
		"a script and words": {func(r *runner.Record) { r.Job.Script, r.Job.Spec.Argv, r.Job.Spec.Command = true, true, "x y\x00z" }, "#!/bin/sh\necho $# $1", "2 x y\n"},
	} {
		k := b.rank("", c.change)
		if c.script != "" {
			if err := os.WriteFile(filepath.Join(k.f.Path(), runner.ScriptFile), []byte(c.script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		k.start().exit()
		if out := k.output(runner.StdoutFile); out != c.want {
			t.Errorf("%s: %q, want %q; stderr: %s", name, out, c.want, k.output(runner.StderrFile))
		}
	}
}

// A rank that was started once, or was refused, is never started again.
func TestTheLatchHolds(t *testing.T) {
	b := newBench(t)
	for _, word := range []string{runner.LatchStarted, runner.LatchNever} {
		k := b.rank("echo again", plain)
		if had, now, err := k.f.Latch(word); had != word || !now || err != nil {
			t.Fatal(had, now, err)
		}
		k.start().gone()
		if _, err := k.f.Exit(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is an end: %v", word, err)
		}
		if out := k.output(runner.StdoutFile); out != "" {
			t.Errorf("%s: the rank ran", word)
		}
	}
	k := b.rank("echo x >> count", plain).start()
	k.exit()
	delete(b.events, k.f.Name())
	k.start().gone()
	if out := k.file("count"); out != "x" {
		t.Errorf("it ran twice: %q", out)
	}
}

// A rank of a gang waits, ready, for the order to run; if refused meanwhile, it never runs.
func TestPrepareThenRun(t *testing.T) {
	b := newBench(t)
	wait := func(r *runner.Record) { r.Orders = runner.Orders{}; r.Job.Address = "127.0.0.1" }
	k := b.rank("echo port $MASTER_PORT", wait).start()
	if s := k.phase(model.RankReady); s.Port == 0 {
		t.Error("rank 0 is ready without a port")
	}
	k.order(runner.Orders{Run: true, Gang: []model.Mate{{Node: "n1", Address: "127.0.0.1", Port: 1234}}})
	k.exit()
	if out := k.output(runner.StdoutFile); out != "port 1234\n" {
		t.Errorf("it said %q", out)
	}
	k = b.rank("echo no", wait).start()
	k.phase(model.RankReady)
	k.order(runner.Orders{Refuse: true})
	k.gone()
	if phase, _, err := k.f.Phase(); phase != model.RankAssigned || err != nil {
		t.Errorf("phase %s, %v", phase, err)
	}
}
