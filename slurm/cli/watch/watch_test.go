package watch

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/request"
)

var update = flag.Bool("update", false, "write testdata again")

// began is when the jobs of the tests were submitted.
func began() time.Time { return time.Date(2026, 11, 27, 9, 0, 0, 0, time.Local) }

// at is so many minutes after it.
func at(minutes int) time.Time { return began().Add(time.Duration(minutes) * time.Minute) }

// present is the time at which the programs of the tests run.
func present() time.Time { return at(60) }

func code(n int64) *int64 { return &n }

// jobs are those of the tests, by their numbers: 1 runs on two nodes, 2 is an array with a bound, 3 is held, 4 waits for 1, 5 has ended, 6
// has failed, 7 ran too long, 8 was killed for memory, 9 lost its node, 10 was canceled while it ran, 11 is in Slurm's language and gets
// ready.
func jobs() map[string]wire.Job {
	usual := func(id, name string) wire.Job {
		return wire.Job{ID: id, Name: name, User: "root", Project: "vision", Priority: 2, GPUs: 1, Nodes: 1, State: "queued", SubmittedAt: began(), Attempts: 0}
	}
	ended := func(id, name, state, reason string, last wire.Last) wire.Job {
		j := usual(id, name)
		last.StartedAt, last.Nodes = at(10), []string{"gpu2"}
		j.State, j.Reason, j.StartedAt, j.EndedAt, j.Attempts, j.Last = state, reason, at(10), at(58), 1, &last
		return j
	}
	one := usual("1", "a name of a job")
	one.State, one.StartedAt, one.RunSeconds, one.TimeLimitSeconds, one.Attempts, one.GPUs, one.Nodes = "running", at(5), 3300, 7200, 1, 8, 2
	for n := range 8 {
		one.AllocatedGPUs = append(one.AllocatedGPUs, wire.GPURef{NodeID: fmt.Sprintf("gpu%d", 1+n/4), Index: int64(n % 4)})
	}
	one.CPUs, one.HostMemory, one.GPUType = 16, 64, "h100"
	two := usual("2", "sweep")
	two.State, two.Array = "running", &wire.Array{Size: 5, Limit: 1, Queued: 3, Running: 1, Completed: 1, Indices: "0-4"}
	three := usual("3", "held")
	three.Held, three.Reason = true, "held"
	four := usual("4", "after")
	four.Reason = "waits for job 1"
	five := ended("5", "done", "completed", "", wire.Last{})
	five.ExitCode = code(0)
	six := ended("6", "bad", "failed", "exit code 3", wire.Last{})
	six.ExitCode = code(3)
	seven := ended("7", "long", "failed", "time_limit", wire.Last{})
	eight := ended("8", "oom", "failed", "killed by signal 9", wire.Last{OutOfMemory: true})
	eight.ExitCode, eight.Signal = code(137), 9
	nine := ended("9", "lost", "failed", "lost", wire.Last{})
	ten := ended("10", "stopped", "canceled", "canceled", wire.Last{StoppedBy: "user:root"})
	eleven := usual("11", "slurm")
	eleven.State, eleven.Attempts, eleven.OnNodes, eleven.GPUs = "allocating", 1, []string{"cpu1"}, 0
	eleven.CPUs = 8
	eleven.Slurm = &request.Request{Partition: "cpu", QOS: "high", Tasks: 4, CPUsPerTask: 2, SubmitDir: "/data/ann", SubmitHost: "login", ScriptName: "train.sh", Stdout: "%x-%j.log"}
	eleven.Slurm.Asked.MemPerNode = 4096
	list := map[string]wire.Job{}
	for _, j := range []wire.Job{one, two, three, four, five, six, seven, eight, nine, ten, eleven} {
		list[j.ID] = j
	}
	return list
}

// tasks are those of job 2.
func tasks() []wire.Task {
	list := []wire.Task{
		{
			Index: 0, State: "completed", Attempts: 1, StartedAt: at(1), EndedAt: at(3), ExitCode: code(0),
			Last: &wire.Last{StartedAt: at(1), Nodes: []string{"gpu3"}},
		},
		{
			Index: 1, State: "running", Attempts: 1, StartedAt: at(50), RunSeconds: 600,
			AllocatedGPUs: []wire.GPURef{{NodeID: "gpu3"}},
		},
	}
	for n := int64(2); n < 5; n++ {
		list = append(list, wire.Task{Index: n, State: "queued"})
	}
	return list
}

// nodes are those of the tests.
func nodes() []wire.Node {
	gpus := func(used int) (list []wire.GPU) {
		for n := range 4 {
			g := wire.GPU{Index: int64(n), Type: "NVIDIA H100 80GB HBM3", State: "free"}
			if n < used {
				g.State = "allocated"
			}
			list = append(list, g)
		}
		return list
	}
	node := func(id, state string, used int) wire.Node {
		return wire.Node{
			ID: id, Hostname: id + ".example", State: state, CPUs: 64, MemoryGB: 524.288, GPUCount: 4, FreeGPUs: int64(4 - used), Jobs: int64(min(used, 1)),
			GPUs:    gpus(used),
			Version: "1.0", Registered: began(),
		}
	}
	drained := node("gpu5", "cordoned", 0)
	drained.Reason = "bad fan"
	draining := node("gpu4", "draining", 2)
	draining.Reason = "kernel"
	labeled := node("gpu6", "up", 0)
	labeled.Labels = wire.Labels{"zone": "a", "spot": ""}
	maint := node("gpu7", "up", 0)
	maint.Reservations = []wire.Reservation{{Kind: "maintenance", Start: at(0), End: at(600)}}
	return []wire.Node{
		node("gpu1", "up", 4), node("gpu2", "up", 4), node("gpu3", "up", 1), draining, drained, labeled, maint, node("gpu8", "dead", 0), node("gpu9", "suspect", 0),
		{ID: "cpu1", Hostname: "cpu1", State: "up", CPUs: 32, CPURoom: 32, CPUsHeld: 8, MemoryGB: 131.072, Jobs: 1},
	}
}

// testHost connects to the cluster of the environment, and takes the user of the token for the caller.
func testHost() *host.Host {
	return &host.Host{
		Dial: func(io.Writer) (*client.Client, error) {
			return client.New(client.Options{Addresses: []string{os.Getenv("BERTH_ADDRESS")}, Token: os.Getenv("BERTH_TOKEN")})
		},
		Me: func(ctx context.Context, api *client.Client) string {
			caller, err := client.PeopleOf(api).Whoami(ctx)
			if err != nil {
				return ""
			}
			return caller.Name
		},
	}
}

// call carries out a command line at the time of the tests.
func call(line ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	p := newProgram(testHost(), line[0], &o, &e)
	p.now = present()
	run := map[string]func(*program, []string) int{
		"squeue": (*program).runSqueue, "sinfo": (*program).runSinfo, "sacct": (*program).runSacct, "scancel": (*program).runScancel, "scontrol": (*program).runScontrol,
		"sacctmgr": (*program).runSacctmgr, "sshare": (*program).runSshare,
	}[line[0]]
	code = run(p, line[1:])
	return code, o.String(), e.String()
}

// shell divides a command line at blanks; words in ' are one.
func shell(line string) (words []string) {
	quoted := strings.Split(line, "'")
	for i := 1; i < len(quoted); i += 2 {
		quoted[i] = strings.ReplaceAll(quoted[i], " ", "\x00")
	}
	for _, word := range strings.Fields(strings.Join(quoted, "")) {
		words = append(words, strings.ReplaceAll(word, "\x00", " "))
	}
	return words
}

// What the programs print is as in testdata. Command lines there begin with $, errors with !, other exit codes than 0 stand in brackets.
func TestGolden(t *testing.T) {
	serve(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for line := range strings.Lines(string(want)) {
			if !strings.HasPrefix(line, "$ ") {
				continue
			}
			got.WriteString(line)
			code, out, errs := call(shell(line[2:])...)
			got.WriteString(out)
			for l := range strings.Lines(errs) {
				got.WriteString("! " + l)
			}
			if code != 0 {
				fmt.Fprintf(&got, "[%d]\n", code)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got.String() != string(want) {
			t.Errorf("%s:\n%s", file, difference(string(want), got.String()))
		}
	}
}

// difference returns the first lines that differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d:\nwant %q\ngot  %q", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines in place of %d", len(g), len(w))
}

// What the programs change.
func TestChanges(t *testing.T) {
	s := serve(t)
	for line, want := range map[string]string{
		"scancel 1":                                    "DELETE /queue/1",
		"scancel 2_3":                                  "DELETE /queue/2 task=3",
		"scancel 2_[1-3]":                              "DELETE /queue/2 task=1-3",
		"scancel 1000002000003":                        "DELETE /queue/2 task=3",
		"scancel -b -f -s KILL 1 4":                    "DELETE /queue/1; DELETE /queue/4",
		"scancel -t PENDING 1 3":                       "DELETE /queue/3",
		"scancel --name=held --me":                     "DELETE /queue/3",
		"scancel -u root -t R":                         "DELETE /queue/1; DELETE /queue/2 task=1; DELETE /queue/11",
		"scancel -u nosuch":                            "",
		"scancel -p cpu":                               "DELETE /queue/11",
		"scontrol hold 3,4":                            "POST /queue/3/hold; POST /queue/4/hold",
		"scontrol release 2_[3-4]":                     "POST /queue/2/release task=3-4",
		"scontrol requeue 1":                           "POST /queue/1/requeue",
		"scontrol requeuehold 1":                       "POST /queue/1/requeue hold=true",
		"scontrol requeuehold 3_[1-2]":                 "POST /queue/3/requeue hold=true&task=1-2",
		"scontrol update JobId=1 TimeLimit=1-00:00:00": `POST /queue/1/extend {"time_limit":86400}`,
		"scontrol update jobid=1 timelimit=+30":        `POST /queue/1/extend {"by":1800}`,
		"scontrol update JobId=4 Nice=10":              `PATCH /queue/4/priority {"priority":1}`,
		"scontrol update JobId=4 Priority=3":           `PATCH /queue/4/priority {"priority":3}`,
		"scontrol update JobId=4 Dependency=":          "DELETE /queue/4/dependencies",
		"scontrol update NodeName=gpu[1-2] State=DRAIN Reason='bad fan'": `PUT /nodes/gpu1/mode {"mode":"cordoned","reason":"bad fan"}; ` +
			`PUT /nodes/gpu2/mode {"mode":"cordoned","reason":"bad fan"}`,
		"scontrol update nodename=gpu1 state=resume": `PUT /nodes/gpu1/mode {"mode":"open"}`,
	} {
		s.changes = nil
		if code, out, errs := call(shell(line)...); code != 0 || out != "" {
			t.Errorf("%s: exit code %d, %s%s", line, code, out, errs)
		}
		if got := strings.Join(s.changes, "; "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Without a peer the programs end with Slurm's words and the remedy.
func TestNoPeer(t *testing.T) {
	t.Setenv("BERTH_ADDRESS", "127.0.0.1:1")
	for _, line := range []string{"squeue", "squeue -j 1", "sacct -a", "sinfo", "scontrol show job 1", "scontrol show node", "scontrol ping", "scontrol hold 1", "sacctmgr list user", "sshare"} {
		code, out, errs := call(shell(line)...)
		if code != 1 || out != "" || !strings.Contains(errs, " error: Unable to contact slurm controller (connect failure): ") || !strings.Contains(errs, "BERTH_ADDRESS") {
			t.Errorf("%s: exit code %d, %s%s", line, code, out, errs)
		}
	}
	if code, out, errs := call("scontrol", "show", "hostnames", "a[1-2]"); code != 0 || out != "a1\na2\n" {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
