package batch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// stepCase is a script with steps, and what it writes and how it ends.
type stepCase struct {
	nodes  int
	script string
	code   int
	stdout string
	stderr []string
}

func runSteps(t *testing.T, cases map[string]stepCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, c.nodes, c.script).start()
			j.want(c.code, c.stdout)
			j.wantErr(c.stderr...)
		})
	}
}

// TestSteps checks which tasks run where, with which variables, and how steps end.
func TestSteps(t *testing.T) {
	t.Parallel()
	runSteps(t, map[string]stepCase{
		"default": {
			2, `srun -l bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $CUDA_VISIBLE_DEVICES' | sort`, 0,
			"0: 0 a 0 0 4 0,1\n1: 1 a 1 0 4 0,1\n2: 2 b 0 1 4 2,3\n3: 3 b 1 1 4 2,3\n", nil,
		},
		"one task":               {2, `srun -N1 -n1 bash -c 'echo $SLURM_NNODES $SLURM_JOB_NUM_NODES $SLURM_STEP_ID $BERTH_NODE'`, 0, "1 2 0 a\n", nil},
		"fewer tasks than nodes": {2, `srun -n1 hostname >/dev/null`, 0, "", []string{"srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1"}},
		"node by name":           {2, `srun -w b -n1 bash -c 'echo $SLURMD_NODENAME $BERTH_NODE $BERTH_SLURM' | sed 's,[^ ]*/b/,,'`, 0, "b b slurm.json\n", nil},
		"without a node":         {2, `srun -x a bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort`, 0, "0 b\n1 b\n", nil},
		"cyclic":                 {2, `srun -m cyclic bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort`, 0, "0 a\n1 b\n2 a\n3 b\n", nil},
		"exit code": {2, `srun bash -c 'exit $((SLURM_PROCID * 2))'; echo $?`, 0, "6\n", []string{
			"srun: error: a: task 1: Exited with exit code 2", "srun: error: b: task 2: Exited with exit code 4", "srun: error: b: task 3: Exited with exit code 6",
		}},
		"same exit codes": {1, `srun -n3 bash -c 'exit 7'; echo $?`, 0, "7\n", []string{"srun: error: a: task", ": Exited with exit code 7\n"}},
		"signal":          {1, `srun -n1 bash -c 'kill -KILL $$'; echo $?`, 0, "137\n", []string{"srun: error: a: task 0: Killed"}},
		"not found": {2, `srun -n1 -w b nosuch; echo $?`, 0, "2\n", []string{
			"slurmstepd: error: execve(): nosuch: No such file or directory", "srun: error: b: task 0: Exited with exit code 2",
		}},
		"not executable": {1, `srun -n1 /etc/passwd; echo $?`, 0, "13\n", []string{"slurmstepd: error: execve(): /etc/passwd: Permission denied"}},
		"variables": {
			2, `umask 027; srun -v -J eval -n2 bash -c 'umask; echo $SLURM_UMASK $SRUN_DEBUG $SLURM_JOB_NAME $SLURM_DISTRIBUTION' | sort -u; umask`, 0,
			"0027\n0027 4 eval cyclic\n0027\n", nil,
		},
		"one after the other": {
			2, `for i in 1 2 3 4 5 6 7 8; do srun -N1 -n1 true; srun -n3 bash -c 'echo $SLURM_TASKS_PER_NODE'; done | sort -u`, 0, "2,1\n", nil,
		},
		"stays":    {1, `export SLURM_NTASKS_PER_NODE=5; srun -n1 bash -c 'echo $SLURM_NTASKS_PER_NODE $SRUN_DEBUG'`, 0, "5 3\n", nil},
		"path":     {1, `srun -n1 ./nosuch; echo $?`, 0, "2\n", []string{"/./nosuch: No such file or directory"}},
		"step ids": {1, `for i in 1 2 3; do srun -n1 bash -c 'echo $SLURM_STEP_ID'; done`, 0, "0\n1\n2\n", nil},
		"own GPUs": {2, `srun --gpus-per-task=1 -n4 bash -c 'echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES' | sort`, 0, "0 0\n1 1\n2 2\n3 3\n", nil},
		"no GPUs":  {1, `srun -n1 --gres=none bash -c 'echo "[$CUDA_VISIBLE_DEVICES]"'`, 0, "[]\n", nil},
		"kill on bad exit": {2, `srun -K bash -c 'if [ $SLURM_PROCID = 2 ]; then exit 5; fi; exec sleep 1000'; echo $?`, 0, "143\n", []string{
			"srun: launch/slurm: _step_signal: Terminating StepId=7.0", "srun: error: a: tasks 0-1: Terminated", "srun: error: b: task 3: Terminated",
		}},
		"wait":      {1, `srun -W1 -n2 bash -c 'if [ $SLURM_PROCID = 1 ]; then exit 0; fi; exec sleep 1000'; echo $?`, 0, "143\n", []string{"srun: First task exited 1s ago", "srun: StepId=7.0 task 0: running", "srun: StepId=7.0 task 1: exited"}},
		"forwarded": {1, `srun -n1 bash -c 'trap "echo got; exit 3" USR1; touch up; while :; do sleep 0.01; done' & while [ ! -e up ]; do sleep 0.01; done; kill -USR1 $!; wait $!; echo $?`, 0, "got\n3\n", nil},
	})
}

// TestStepsAtOnce checks steps next to others, within others, and those that a job can never run.
func TestStepsAtOnce(t *testing.T) {
	t.Parallel()
	runSteps(t, map[string]stepCase{
		"GPUs of steps at once": {1, `mkfifo f; (srun -n1 --gpus=1 bash -c 'echo $CUDA_VISIBLE_DEVICES; echo x > f' & srun -n1 --gpus=1 bash -c 'read x < f; echo $CUDA_VISIBLE_DEVICES' & wait) | sort`, 0, "0\n1\n", nil},
		"at once":               {2, `mkfifo f g; srun -n1 bash -c 'echo x > f; read y < g' & srun -n1 bash -c 'read x < f; echo y > g' & wait; echo done`, 0, "done\n", nil},
		"parts on nodes":        {2, `for n in 0 1; do srun -N1 -n1 -c4 bash -c 'touch at-$SLURMD_NODENAME; while [ ! -e at-a ] || [ ! -e at-b ]; do sleep 0.01; done; echo $SLURMD_NODENAME' & done | sort`, 0, "a\nb\n", nil},
		"one after the other": {
			1, `srun bash -c 'while [ ! -e go ]; do sleep 0.01; done' & srun --overlap -n1 true; srun -n1 echo later 2>err & while ! grep -q retrying err; do sleep 0.01; done; touch go; wait; cat err`, 0,
			"later\nsrun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)\nsrun: Step created for StepId=7.2\n", nil,
		},
		"within a step":     {1, `srun -n1 -c4 bash -c 'srun -n2 echo inner'`, 0, "inner\ninner\n", nil},
		"from another node": {2, `srun -n1 -w b srun -n1 -w a bash -c 'echo $SLURMD_NODENAME $SLURM_STEP_ID'`, 0, "a 1\n", nil},
		"too many nodes":    {1, `srun -N3 true; echo $?`, 0, "1\n", []string{"srun: error: Unable to create step for job 7: Only allocated 1 nodes asked for 3"}},
		"another node":      {1, `srun -w z true; echo $?`, 0, "1\n", []string{"Requested node configuration is not available: node z does not belong to the job"}},
		"too many GPUs":     {1, `srun -n1 --gpus=3 true; echo $?`, 0, "1\n", []string{"node a has 2 GPUs of the job, and the step asks for 3 there"}},
		"immediate":         {1, `srun bash -c 'echo up; while [ ! -e go ]; do sleep 0.01; done' > up & while ! grep -q up up; do sleep 0.01; done; srun -I true; echo $?; touch go; wait`, 0, "1\n", []string{"Requested nodes are busy"}},
		"own job":           {1, `srun --jobid=$SLURM_JOB_ID -n1 echo yes; srun --jobid=8 true; echo $?`, 0, "yes\n1\n", []string{"srun: error: there is no job 8"}},
		"unknown option":    {1, `srun --nodess=2 true; echo $?; srun -n; echo $?; srun -n x true; echo $?`, 0, "255\n255\n1\n", []string{"srun: error: --nodess"}},
		"refused":           {1, `srun --bcast x; echo $?`, 0, "1\n", []string{"--bcast: the option is refused"}},
	})
}

// TestPrograms checks steps whose tasks run several programs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	runSteps(t, map[string]stepCase{
		"several programs": {
			2, `printf '0 echo zero %%t\n1,3 sh -c '"'"'echo $SLURM_PROCID $0 $1'"'"' o%%o\n* echo rest %%o\n' > f; srun -l -n4 --multi-prog f x | sort; echo ${PIPESTATUS[0]}`, 0,
			"0: zero 0 x\n1: 1 o0 x\n2: rest 2 x\n3: 3 o1 x\n0\n", nil,
		},
		"exit codes of programs": {
			1, `printf '0 sh -c '"'"'exit $0'"'"' 3\n1 true\n' > f; srun -n2 --multi-prog f; echo $?`, 0,
			"3\n",
			[]string{"srun: error: a: task 0: Exited with exit code 3"},
		},
		"a task without a program": {
			1, `printf '0 true\n' > f; srun -n2 --multi-prog f; echo $?; srun --multi-prog gone; echo $?; printf '0-1 true\n1 true\n' > f; srun -n2 --multi-prog f; echo $?`, 0, "1\n1\n1\n", []string{
				"srun: error: Configuration file f invalid, no record for task id 1\n", "srun: error: Could not open multi_prog config file gone",
				"srun: error: Duplicate record for task 1\nsrun: error: Line 2 of configuration file f invalid\n",
			},
		},
		"no program in a line": {1, `printf "0 'open\n" > f; srun -n1 --multi-prog f; echo $?`, 0, "2\n", []string{"No executable program specified for this task"}},
	})
}

// TestStreams checks input, output, files, folders and variables of tasks.
func TestStreams(t *testing.T) {
	t.Parallel()
	runSteps(t, map[string]stepCase{
		"capture":        {1, `x=$(srun -n2 echo hello); echo "[$x]"`, 0, "[hello\nhello]\n", nil},
		"input to all":   {2, `printf 'x\ny\n' | srun -l cat | sort`, 0, "0: x\n0: y\n1: x\n1: y\n2: x\n2: y\n3: x\n3: y\n", nil},
		"input to one":   {2, `echo x | srun -i 3 -l cat`, 0, "3: x\n", nil},
		"no input":       {1, `echo x | srun -i none cat; cat`, 0, "", nil},
		"much input":     {1, `head -c 3000000 /dev/zero | srun -n1 cat | wc -c`, 0, "3000000\n", nil},
		"environment":    {2, `export A=1 B=2; srun -n1 -w b --export=A,C=3 bash -c 'echo "$A [$B] $C $SLURM_JOB_ID"'; srun -n1 --export=NONE bash -c 'echo "[$A] ${HOME:+home}"'`, 0, "1 [] 3 7\n[] home\n", nil},
		"any bytes":      {2, `export V=$'b\xe9'; d=$'d\xe8'; mkdir $d; cd $d; srun -w b -n1 -o $'\xe7%t' bash -c 'printf %s "$1$V$(basename $PWD)"' x $'a\xe9'; od -An -tx1 < $'\xe70'`, 0, " 61 e9 62 e9 64 e8\n", nil},
		"folder":         {1, `mkdir sub; srun -n1 -D sub bash -c 'basename $PWD'; srun -n1 -D nosuch pwd`, 0, "sub\n/tmp\n", []string{"slurmstepd: error: couldn't chdir to"}},
		"files of tasks": {2, `srun -o out-%t-%N-%j.%s bash -c 'echo $SLURM_PROCID; echo err >&2'; cat out-*`, 0, "0\nerr\n1\nerr\n2\nerr\n3\nerr\n", nil},
		"files of nodes": {
			2, `echo old > out.a; srun -o out.%N -e out.%n bash -c 'echo $SLURM_PROCID; echo err $SLURM_NODEID >&2'; sort out.a; sort out.b; sort out.[01]`, 0,
			"0\n1\n2\n3\nerr 0\nerr 0\nerr 1\nerr 1\n", nil,
		},
		"one file of a node": {1, `srun -n8 -o out.%N -e ./out.%N.err%n bash -c 'for i in 1 2 3; do echo $SLURM_PROCID; echo e >&2; done'; sort out.a | uniq -c | xargs; wc -l < out.a.err0; srun -n1 -o x%n -e ./x%n bash -c 'echo a; echo b >&2'; cat x0`, 0, "3 0 3 1 3 2 3 3 3 4 3 5 3 6 3 7\n24\na\nb\n", nil},
		"one file":           {2, `srun -n2 -o out-%J -l echo x; sort out-7.0; srun -n2 -o none echo x; srun -n2 -o 1 -l echo y`, 0, "0: x\n1: x\n1: y\n", nil},
		"no such folder":     {1, `srun -n1 -o no/such echo x; echo $?; srun -n1 -o no/%t echo x; echo $?`, 0, "1\n1\n", []string{"srun: error: Could not open stdout file", "slurmstepd: error: Could not open stdout file"}},
		"label width":        {1, `srun -n11 -l echo x | head -1 | tr 0-9 .`, 0, " .: x\n", nil},
		"whole lines":        {1, `srun -n2 bash -c 'for i in 1 2 3 4 5 6 7 8 9; do printf a; printf "b\n"; done' | sort -u`, 0, "ab\n", nil},
	})
}

// TestInterrupt checks Ctrl-C: the states of tasks, then a signal for them, then their end.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, `set -m
srun -n1 bash -c 'trap "" INT; echo up; while :; do sleep 0.05; done' &
echo $! > pid
wait $!; echo $?`).start()
	j.out("up\n")
	for _, text := range []string{"srun: StepId=7.0 task 0: running", "srun: sending Ctrl-C to StepId=7.0", "srun: forcing job termination"} {
		j.kill("pid", syscall.SIGINT)
		j.ranks[0].wait(t, &j.ranks[0].stderr, text)
	}
	j.want(0, "up\n137\n")
	j.wantErr("srun: interrupt (one more within 1 sec to abort)", "srun: error: a: task 0: Killed")
}

// TestNothingIsLeft checks that processes of a task end with the task, and tasks with their srun.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, `srun -w b -n1 bash -c 'sleep 1000 & echo $! >> pids; setsid bash -c "echo \$\$ >> pids; echo x > far; exec sleep 1000" & while [ ! -e far ]; do sleep 0.01; done'
srun -l bash -c 'echo $$ >> pids; echo up; exec sleep 1000' & echo $! > pid
wait; srun true; echo over`).start()
	for i := range 4 {
		j.out(string(rune('0'+i)) + ": up\n")
	}
	j.kill("pid", syscall.SIGKILL)
	j.out("over\n")
	for pid := range strings.FieldsSeq(j.file("pids")) {
		waitGone(t, pid)
	}
}

// kill sends a signal to the process whose number a file has.
func (j *job) kill(file string, s syscall.Signal) {
	j.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(j.file(file)))
	if err == nil {
		err = syscall.Kill(pid, s)
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

// TestManyTasks runs a thousand tasks on one node.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	n := "1000"
	if testing.Short() {
		n = "200"
	}
	newJob(t, 1, `srun -n`+n+` bash -c 'echo $SLURM_PROCID' | sort -n | uniq | wc -l; echo x | srun -n`+n+` cat | wc -l`).start().want(0, n+"\n"+n+"\n")
}

// TestSlowReader checks that tasks wait for a reader that is slow, and that nothing is lost. The kernel holds up to 40 MB of a connection.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	newJob(t, 2, `mkfifo f; (srun -n2 bash -c 'head -c 60000000 /dev/zero; echo $SLURM_PROCID >> over' > f) &
exec 3< f; head -c 1000 <&3 >/dev/null; ls over 2>/dev/null; cat <&3 | wc -c; wait; sort over`).start().want(0, "119999000\n0\n1\n")
}

// TestLostNode checks that the loss of a node ends the step, and is named.
func TestLostNode(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, `srun bash -c 'echo up; exec sleep 1000'; echo $?`).start()
	j.ranks[0].wait(t, &j.ranks[0].stdout, strings.Repeat("up\n", 4))
	j.signal(1, syscall.SIGKILL)
	j.end()
	j.wantErr("srun: error: Node failure on b: tasks 2-3 can be reached no more", "srun: error: a: tasks 0-1: Terminated")
}

// TestLateNode checks that a step waits for a node that is not there yet.
func TestLateNode(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, `srun -n2 bash -c 'echo $SLURMD_NODENAME' | sort`)
	j.startRank(0)
	j.ranks[0].wait(t, &j.ranks[0].stderr, "the server of node b is not connected")
	j.startRank(1)
	j.want(0, "a\nb\n")
}

// TestWrongSecret checks that a node with another secret gets no tasks.
func TestWrongSecret(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, `srun -n2 true`)
	j.files[1].Secret = "another"
	j.start()
	j.ranks[0].wait(t, &j.ranks[0].stderr, "the server of node b is not connected")
	j.ranks[1].wait(t, &j.ranks[1].stderr, "cannot be reached")
}

// TestFewFiles checks that steps run on after the launcher had no free file numbers for a while.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	const most = 40
	j := newJob(t, 1, `srun bash -c 'echo up; while [ ! -e over ]; do sleep 0.01; done' > up &
while [ ! -e few ]; do sleep 0.01; done
for i in {1..60}; do srun -Q true 2>>errors & done; wait; srun -n1 echo later`).start()
	waitUntil(t, "the first step runs", func() bool { return j.file("up") == "up\nup\n" })
	pid := j.ranks[0].cmd.Process.Pid
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		t.Fatal(err)
	}
	j.put("few", "")
	waitUntil(t, "no file number is free", func() bool {
		files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
		return err == nil && len(files) >= most
	})
	j.put("over", "")
	j.want(0, "later\n")
	if text := j.file("errors"); strings.Contains(text, "Node failure") {
		t.Errorf("srun has written %q", text)
	}
}
