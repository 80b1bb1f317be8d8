package sbatch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/form"
)

func TestTable(t *testing.T) {
	t.Parallel()
	names, letters, vars := map[string]string{}, map[byte]string{}, map[string]string{}
	for _, o := range Table() {
		for _, name := range o.names() {
			if names[name] != "" {
				t.Errorf("--%s is there twice", name)
			}
			names[name] = o.Name
		}
		if o.Short != 0 && letters[o.Short] != "" {
			t.Errorf("-%c is of %s and %s", o.Short, letters[o.Short], o.Name)
		}
		letters[o.Short] = o.Name
		for _, v := range o.Env {
			if vars[v] != "" {
				t.Errorf("%s is of %s and %s", v, vars[v], o.Name)
			}
			vars[v] = o.Name
		}
		if o.Text == "" || strings.HasSuffix(o.Text, ".") {
			t.Errorf("--%s has the text %q: one without a full stop is needed", o.Name, o.Text)
		}
		if (o.Effect == Refused) != (o.Remedy != "") {
			t.Errorf("--%s is %s and has the remedy %q", o.Name, o.Effect, o.Remedy)
		}
		if (o.Takes == TakesNone) != (o.Form == "") {
			t.Errorf("--%s takes %d and has the form %q", o.Name, o.Takes, o.Form)
		}
		if o.Effect == Used && o.set == nil && o.moment == nil {
			t.Errorf("--%s is used and kept nowhere", o.Name)
		}
	}
	// The options of the manual page of sbatch, with their letters.
	for _, name := range strings.Fields(`account:A acctg-freq array:a batch bb bbf begin:b chdir:D cluster-constraint clusters:M comment constraint:C container container-id
		contiguous core-spec:S cores-per-socket cpu-freq cpus-per-gpu cpus-per-task:c deadline delay-boot dependency:d distribution:m error:e exclude:x exclusive export
		export-file extra extra-node-info:B get-user-env gid gpu-bind gpu-freq gpus:G gpus-per-node gpus-per-socket gpus-per-task gres gres-flags help:h hint hold:H ignore-pbs
		input:i job-name:J kill-on-invalid-dep licenses:L mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nice no-kill:k no-requeue
		nodefile:F nodelist:w nodes:N ntasks:n ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket oom-kill-step open-mode output:o overcommit:O oversubscribe:s
		parsable partition:p power prefer priority profile propagate qos:q quiet:Q reboot requeue reservation resv-ports segment signal sockets-per-node spread-job stepmgr switches
		test-only thread-spec threads-per-core time:t time-min tmp tres-bind tres-per-task uid usage use-min-nodes verbose:v version:V wait:W wait-all-nodes wckey wrap`) {
		name, letter, _ := strings.Cut(name, ":")
		if names[name] != name {
			t.Errorf("--%s is missing", name)
		}
		if letter != "" && letters[letter[0]] != name {
			t.Errorf("-%s is %s, not %s", letter, letters[letter[0]], name)
		}
	}
}

// run parses a command line with a script.
func run(script string, args ...string) (Job, error) {
	c, err := ParseCommand(args)
	if err != nil {
		return Job{}, err
	}
	return Parse(Input{Command: c, Script: []byte(script), Now: noon()})
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		want string
	}{
		{"-N 2 train.sh -n 3 --mem", "nodes=2 | train.sh | [-n 3 --mem]"},
		{"-HWG4 --time 10 --exclusive a.sh", "hold= wait= gpus=4 time=10 exclusive= | a.sh | []"},
		{"--exclusive=user -k -koff", "exclusive=user no-kill= no-kill=off |  | []"},
		{"--mem=-1 -d -x -- -a b", "mem=-1 dependency=-x | -a | [b]"},
		{"", " |  | []"},
		{"- x", " | - | [x]"},
		{"--nice --nice=5", "nice= nice=5 |  | []"},
	} {
		command, err := ParseCommand(strings.Fields(c.args))
		var given []string
		for _, g := range command.Given {
			given = append(given, g.Option+"="+g.Value)
		}
		if got := fmt.Sprintf("%s | %s | %v", strings.Join(given, " "), command.Script, command.Arguments); err != nil || got != c.want {
			t.Errorf("%q is %q, %v; want %q", c.args, got, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const head = "#!/bin/sh\n"
	const cmd = "the command line: "
	for _, c := range []struct{ script, args, want string }{
		{"", "", "the script is empty; the first line must be #! and the path of a program, such as #!/bin/bash"},
		{" \n\t\n", "", "the script has blanks only; the first line must be #! and the path of a program, such as #!/bin/bash"},
		{"\x7fELF\x00", "", "this is no batch script: the first line must be #! and the path of a program, such as #!/bin/bash, not \"\\x7fELF\\x00\""},
		{head + "\x00", "", "the script has a zero byte: it is a program or is damaged; submit a script that calls the program"},
		{head + strings.Repeat("#", MaxScript), "", "the script has 4194314 bytes; at most 4194304 are accepted: keep data in files of their own"},
		{head, "-Z", cmd + "-Z: there is no such option of sbatch; sbatch --help lists all"},
		{head, "--tyme=3", cmd + "--tyme: there is no such option of sbatch; perhaps --time is meant"},
		{head, "--time", cmd + "--time: the value is missing: write --time=TIME"},
		{head, "-t", cmd + "--time: the value is missing: write --time=TIME"},
		{head, "--hold=1", cmd + `--hold: the option has no value, and "1" is given: write --hold alone`},
		{head, "--nod=1", cmd + "--nod: the name is ambiguous; it may be --nodefile, --nodelist, --nodes"},
		{head, "--job-name=", cmd + "--job-name: the value is empty"},
		{head, "--partition=a,,b", cmd + `--partition: "a,,b" has an empty name: write names that commas join`},
		{head, "-n 0", cmd + `--ntasks: "0" is not a whole number from 1 to 1073741824`},
		{head, "--nice=x", cmd + `--nice: "x" is not a whole number from -2147483645 to 2147483645`},
		{head, "--priority=high", cmd + `--priority: "high" is not a whole number from 0 to 1073741824, and not TOP`},
		{head, "--open-mode=x", cmd + `--open-mode: "x" is not one of: append, truncate`},
		{head, "--mail-type=x", cmd + `--mail-type: "X" is not one of: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, ` +
			`TIME_LIMIT_80, TIME_LIMIT_50, ARRAY_TASKS`},
		{head, "--kill-on-invalid-dep=x", cmd + `--kill-on-invalid-dep: "x" is not one of: yes, no`},
		{head, "-m foo", cmd + `--distribution: "foo" is not one of: block, cyclic, plane=N`},
		{head, "-m plane=0", cmd + `--distribution: "0" is not a whole number from 1 to 1073741824`},
		{head, "-B 1:2:3:4", cmd + `--extra-node-info: "1:2:3:4" has more than three numbers: write SOCKETS:CORES:THREADS`},
		{head, "-w ./nodes.txt", cmd + `--nodelist: "./nodes.txt" is a file with names, which only --nodefile takes`},
		{head, "-x n[1", cmd + `--exclude: node list: "n[1" has a [ without a ]`},
		{head, "--export=ALL,2A=1", cmd + `--export: "ALL,2A=1" has "2A", which is no name of a variable: write ALL, NONE, or names and NAME=value that commas join`},
		{head, "--export=NONE,A", cmd + `--export: "NONE,A" has NONE among other words; it stands alone`},
		{head, "--export='A=1", cmd + `--export: "'A=1" has a quote ' that is not closed`},
		{head, "--tres-per-task=license:2", cmd + `--tres-per-task: "license:2" has the resource "license"; Berth gives cpu and gres/gpu to tasks`},
		{head, "--wrap= x", cmd + `--wrap: the command of --wrap is the script, so "x" must not follow: put all words of the command in quotes`},
		{head, "--wrap=", cmd + `--wrap: there is no command: write --wrap="COMMAND"`},
		{head + "#SBATCH --version\n", "", "line 2 of the script: --version: the option belongs to the command line: remove it from the script"},
		{head + "#SBATCH --foo\n", "", "line 2 of the script: --foo: there is no such option of sbatch; sbatch --help lists all"},
	} {
		job, err := run(c.script, strings.Fields(c.args)...)
		var e *Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("%.60q with %q is %v, with the error\n %v\nwant\n %s", c.script, c.args, job.Options.JobName, err, c.want)
		}
	}
}

func TestLongScript(t *testing.T) {
	t.Parallel()
	long := "#!/bin/sh\n# " + strings.Repeat("x", 70<<10) + "\n#SBATCH --gpus=2\necho " + strings.Repeat("y", 100<<10) + "\n"
	job, err := run(long)
	if err != nil || job.Options.GPUs.Count != 2 || !bytes.Equal(job.Script, []byte(long)) {
		t.Errorf("a script of %d bytes has %d GPUs, %v", len(long), job.Options.GPUs.Count, err)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	job, err := run("", "-n2", "--wrap", "srun hostname; date")
	want := "#!/bin/sh\n# The command of sbatch --wrap.\n\nsrun hostname; date\n"
	if err != nil || string(job.Script) != want || job.Options.JobName != "wrap" || job.Options.Tasks != 2 {
		t.Errorf("the script is %q, of job %q, %v", job.Script, job.Options.JobName, err)
	}
	if job, err = run("#!/bin/sh\n"); err != nil || job.Options.JobName != "sbatch" {
		t.Errorf("a script from standard input is %q, %v", job.Options.JobName, err)
	}
}

// TestNotesNameOptions shows that each option without effect is named once, by its full name.
func TestNotesNameOptions(t *testing.T) {
	t.Parallel()
	for _, o := range Table() {
		if o.Effect != NoEffect {
			continue
		}
		args := []string{"--" + o.Name, "--" + o.Name}
		if o.Takes == TakesValue {
			value := map[string]string{"mail-type": "END", "time-min": "10"}[o.Name]
			args = []string{"--" + o.Name, "7", "--" + o.Name + "=7"}
			if value != "" {
				args = []string{"--" + o.Name, value, "--" + o.Name + "=" + value}
			}
		}
		job, err := run("#!/bin/sh\n", args...)
		if err != nil || len(job.Notes) != 1 || !strings.HasPrefix(job.Notes[0].String(), "--"+o.Name+": no effect: ") {
			t.Errorf("--%s has the notes %q, %v", o.Name, job.Notes, err)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if words := (Layout{Model: "nvidia_a100", Profile: "1g.5gb"}).Words(); words != "nvidia a100 mig 1g.5gb" {
		t.Errorf("the words are %q", words)
	}
}

func TestLayoutErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-N 70000":                            "the command line: --nodes: 70000 nodes are more than a job can have, which is 65536",
		"-n 1000000 --ntasks-per-node=1":      "the command line: --ntasks: 1000000 tasks with --ntasks-per-node=1 need 1000000 nodes, more than the 65536 that a job can have",
		"-N 60000 --ntasks-per-node=60000":    "the command line: --ntasks-per-node: these are more than 1073741824 tasks",
		"-n 100000 -c 100000":                 "the command line: --cpus-per-task: these are more than 1073741824 cores of a node",
		"--mem-per-cpu=1000000T -c 2000":      "--mem: these are more than 1048576 TiB of memory for a node",
		"-G 6 --gpus-per-node=4":              "the command line: --gpus: 6 GPUs are no multiple of the 4 of each node (--gpus-per-node)",
		"-G 5 --gpus-per-task=2":              "the command line: --gpus-per-task: 5 GPUs (--gpus) are no multiple of 2",
		"-G 4 --gpus-per-task=2 -n 3":         "the command line: --gpus-per-task: 3 tasks (--ntasks) with 2 GPUs each are not the 4 of --gpus: leave out one of the three",
		"--gres=gpu:3 --gpus-per-task=2 -n 1": "the command line: --gpus-per-task: 3 GPUs of a node (--gres) are no multiple of 2",
		"-N 2 -n 3 --gpus-per-task=1": "the command line: --gpus-per-task: 3 tasks cannot be divided evenly among 2 nodes, so that some would have more GPUs than others: " +
			"ask for a multiple of tasks, or leave out --nodes",
		"-N 1 -n 4 --gpus-per-node=2 --gpus-per-task=1":                "the command line: --ntasks: 4 tasks do not fit on 1 node with 2 on each (--gpus-per-node, --gpus-per-task): ask for 2 nodes, or for more tasks on each",
		"-N 1 --ntasks-per-node=4 --gpus-per-node=2 --gpus-per-task=1": "the command line: --gpus-per-task: 4 tasks of a node with 1 GPUs each need more than its 2 (--gpus-per-node)",
		"--ntasks-per-gpu=2":           "the command line: --ntasks-per-gpu: the number of GPUs is missing: add --gpus, --gpus-per-node or --ntasks",
		"--ntasks-per-gpu=2 -n 5":      "the command line: --ntasks-per-gpu: 5 tasks (--ntasks) are no multiple of 2",
		"--ntasks-per-gpu=2 -G 2 -n 8": "the command line: --ntasks-per-gpu: 2 GPUs (--gpus) with 2 tasks each are 4 tasks, not 8 (--ntasks): leave out one of the three",
		"--cpus-per-gpu=4":             "the command line: --cpus-per-gpu: the job has no number of GPUs that the cores follow from: add --gpus or --gpus-per-node",
		"-w n1,n2 -n 1":                "the command line: --ntasks: 1 tasks cannot run on 2 nodes (--nodelist): name fewer nodes, or ask for more tasks",
	} {
		job, err := run("#!/bin/sh\n", strings.Fields(args)...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if l, err := job.Layout(); err == nil || err.Error() != want {
			t.Errorf("%q is %+v, with the error\n %v\nwant\n %s", args, l, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"--gpus=2 -N2", "--job-name=\"a b\" # x", "-N 2-4 --gres=gpu:a100:2,nvme:1", "--mem='1", "hetjob", ":", "--ex=1", "-HWG2", "--export=A='b,c'",
		"-n 5 -N 2 --gpus-per-task=1", "\\", "a\\ b", "--ntasks-per-gpu=2 -G4", "-B 2:*:2 -N3", "--exclusive --mem-per-cpu=1T",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, line, args string) {
		job, err := run("#!/bin/sh\n#SBATCH "+line+"\n", strings.Fields(args)...)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%q, %q: %v", line, args, err)
			}
			return
		}
		l, err := job.Layout()
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%q, %q: %v", line, args, err)
			}
			return
		}
		for _, n := range []int{l.Tasks, l.TasksPerNode, l.CoresPerNode, l.CoresPerTask, l.GPUs, l.GPUsPerNode, l.NodesMax} {
			if n < 0 || n > form.MaxCount {
				t.Fatalf("%q, %q have %+v", line, args, l)
			}
		}
		if l.NodesMin < 1 || l.NodesMax < l.NodesMin || l.Tasks < 1 || l.TasksPerNode < 1 || l.MemoryMiB < 0 || l.MemoryMiB > form.MaxMemory {
			t.Fatalf("%q, %q have %+v", line, args, l)
		}
		if !l.NodesOpen && l.GPUs != l.GPUsPerNode*l.NodesMax {
			t.Fatalf("%q, %q have %d GPUs, and %d on each of %d nodes", line, args, l.GPUs, l.GPUsPerNode, l.NodesMax)
		}
	})
}
