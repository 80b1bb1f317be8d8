package batch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/slurm/jobfile"
)

// scriptCase is a script, what the job is beyond it, and what must come of both.
type scriptCase struct {
	script string
	set    func(*job, *jobfile.File)
	code   int
	stdout string
	stderr string
	files  map[string]string
}

func runScripts(t *testing.T, cases map[string]scriptCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1, c.script)
			if c.set != nil {
				c.set(j, j.files[0])
			}
			j.start().want(c.code, c.stdout)
			j.wantErr(c.stderr)
			for name, text := range c.files {
				if got := j.file(name); got != text {
					t.Errorf("%s has %q; it should have %q", name, got, text)
				}
			}
		})
	}
}

// TestOutput checks where the output of scripts goes.
func TestOutput(t *testing.T) {
	t.Parallel()
	runScripts(t, map[string]scriptCase{
		"output": {script: "echo out; echo err >&2; exit 3", code: 3, stdout: "out\n", stderr: "err\n"},
		"both files": {
			script: "echo out; echo err >&2", set: func(_ *job, f *jobfile.File) { f.Request.Stdout, f.Request.Stderr = "o-%x", "e-%j" },
			stdout: "out\n", files: map[string]string{"o-train": "out\n", "e-7": "err\n"},
		},
		"default file": {script: "echo out", stdout: "out\n", files: map[string]string{"slurm-7.out": "out\n"}},
		"of an array": {
			script: "echo $SLURM_ARRAY_TASK_ID", set: func(_ *job, f *jobfile.File) { f.Job.Array.Job, f.Job.Array.Task, f.Job.Array.Count = 5, 2, 3 },
			stdout: "2\n", files: map[string]string{"slurm-5_2.out": "2\n"},
		},
		"no folder": {script: "echo out", set: func(_ *job, f *jobfile.File) { f.Request.Stdout = "no/such/%j" }, stdout: "out\n", stderr: "berth: the output is only in the log of the job"},
		"null":      {script: "echo out", set: func(_ *job, f *jobfile.File) { f.Request.Stdout = "/dev/null" }, stdout: "out\n"},
		"full":      {script: "echo out", set: func(_ *job, f *jobfile.File) { f.Request.Stdout = "/dev/full" }, stdout: "out\n", stderr: "no space left on device"},
		"emptied":   {script: "echo new", set: func(j *job, _ *jobfile.File) { j.put("slurm-7.out", "old\n") }, stdout: "new\n", files: map[string]string{"slurm-7.out": "new\n"}},
		"requeued":  {script: "echo $SLURM_RESTART_COUNT", set: func(j *job, f *jobfile.File) { j.put("slurm-7.out", "old\n"); f.Job.Restarts = 1 }, stdout: "1\n", files: map[string]string{"slurm-7.out": "old\n1\n"}},
		"append":    {script: "echo new", set: func(j *job, f *jobfile.File) { j.put("slurm-7.out", "old\n"); f.Request.Append = true }, stdout: "new\n", files: map[string]string{"slurm-7.out": "old\nnew\n"}},
		"truncate": {script: "echo new", set: func(j *job, f *jobfile.File) {
			j.put("slurm-7.out", "old\n")
			f.Request.Truncate, f.Job.Restarts = true, 2
		}, stdout: "new\n", files: map[string]string{"slurm-7.out": "new\n"}},
		"left over": {
			script: "sleep 1000 & echo $! > left; echo out", set: func(j *job, _ *jobfile.File) { j.t.Cleanup(func() { j.kill("left", syscall.SIGKILL) }) },
			stdout: "out\n",
		},
		"tee":  {script: "exec > >(sleep 0.1; cat) 2>&1; echo out", stdout: "out\n"},
		"much": {script: "head -c 5000000 /dev/zero | tr '\\0' x | fold", stdout: strings.Repeat(strings.Repeat("x", 80)+"\n", 5000000/80-1) + strings.Repeat("x", 80)},
	})
}

// TestScript checks how scripts begin and end.
func TestScript(t *testing.T) {
	t.Parallel()
	runScripts(t, map[string]scriptCase{
		"input":             {script: "cat", set: func(j *job, f *jobfile.File) { j.put("in-7", "in\n"); f.Request.Stdin = "in-%j" }, stdout: "in\n"},
		"no input":          {script: "cat; echo over", stdout: "over\n"},
		"environment":       {script: "echo $SLURM_JOB_ID $SLURM_NNODES $SLURM_PROCID $CUDA_VISIBLE_DEVICES $BERTH_NODE ${BERTH_SLURM_STAGE-none}; [ $SLURM_TASK_PID = $$ ] && echo same", stdout: "7 1 0 0,1 a none\nsame\n"},
		"session":           {script: `[ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ] && pwd | xargs basename`, stdout: "work\n"},
		"signal":            {script: "kill -USR2 $$", code: -int(syscall.SIGUSR2)},
		"killed":            {script: "kill -KILL $$", code: -int(syscall.SIGKILL)},
		"missing":           {set: func(_ *job, f *jobfile.File) { f.Command = []string{"/no/such"} }, code: 2, stderr: "slurmstepd: error: execve(): /no/such: No such file or directory"},
		"forbidden":         {set: func(_ *job, f *jobfile.File) { f.Command = []string{"/etc/passwd"} }, code: 13, stderr: "slurmstepd: error: execve(): /etc/passwd: Permission denied"},
		"arguments":         {script: `echo "$1|$2"`, set: func(_ *job, f *jobfile.File) { f.Command = append(f.Command, "a b", "") }, stdout: "a b|\n"},
		"no working folder": {script: "pwd", set: func(_ *job, f *jobfile.File) { f.WorkDir = "/no/such" }, stdout: "/tmp\n", stderr: "slurmstepd: error: couldn't chdir to `/no/such': No such file or directory: going to /tmp instead"},
		"broken pipe":       {script: "yes | head -1", stdout: "y\n"},
	})
}

// put writes a file into the working folder.
func (j *job) put(name, text string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o600); err != nil {
		j.t.Fatal(err)
	}
}

// TestStopSignal checks that the stop signal reaches the script and, once, all tasks, and that the script decides how the job ends.
func TestStopSignal(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, `trap 'echo stop; stop=1' TERM
srun -n1 -w a bash -c 'trap "echo term-a" TERM; trap "exit 0" USR1; echo up-a; while :; do sleep 0.01; done' &
srun -n1 -w b bash -c 'trap "echo term-b" TERM; trap "exit 0" USR1; echo up-b; while :; do sleep 0.01; done' &
trap : USR1; while [ -z "$stop" ]; do wait; done; while [ -n "$(jobs -r)" ]; do wait; done; exit 4`).start()
	j.out("up-a\n")
	j.out("up-b\n")
	j.signal(0, syscall.SIGTERM)
	j.signal(1, syscall.SIGTERM)
	lines := []string{"stop\n", "term-a\n", "term-b\n"}
	for _, line := range lines {
		j.out(line)
	}
	j.signal(0, syscall.SIGUSR1) // comes to the tasks after the stop signal by each srun
	if code := j.end(); code != 4 {
		t.Errorf("the job ended with %d; the script ends with 4", code)
	}
	text := j.ranks[0].stdout.String()
	for _, line := range lines {
		if strings.Count(text, line) != 1 {
			t.Errorf("%q is not in %q once", line, text)
		}
	}
	<-j.ranks[1].done
}

// TestWarning checks for which processes the warning ahead of the time limit is, also if it has the number of the stop signal.
func TestWarning(t *testing.T) {
	t.Parallel()
	const script = `trap 'echo script' USR1 TERM; trap 'over=1' USR2
srun -n1 -w a bash -c 'trap "echo task-a" USR1 TERM; trap "exit 0" USR2; echo up-a; while :; do sleep 0.01; done' &
srun -n1 -w b bash -c 'trap "echo task-b" USR1 TERM; trap "exit 0" USR2; echo up-b; while :; do sleep 0.01; done' &
while [ -z "$over" ]; do wait; done; wait; wait`
	for name, c := range map[string]struct {
		signal string
		steps  bool
	}{"tasks": {"USR1", true}, "script": {"USR1", false}, "TERM for tasks": {"TERM", true}, "TERM for the script": {"TERM", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, script)
			for _, f := range j.files {
				f.Signal, f.Request.SignalSteps = c.signal, c.steps
			}
			j.start()
			j.out("up-a\n")
			j.out("up-b\n")
			want := map[string]int{"script\n": 1, "task-a\n": 0, "task-b\n": 0}
			if c.steps {
				want = map[string]int{"script\n": 0, "task-a\n": 1, "task-b\n": 1}
			}
			j.signal(0, jobfile.WarnNumber)
			j.signal(1, jobfile.WarnNumber)
			for line, n := range want {
				if n > 0 {
					j.out(line)
				}
			}
			j.signal(0, syscall.SIGUSR2)
			j.end()
			for line, n := range want {
				if text := j.ranks[0].stdout.String(); strings.Count(text, line) != n {
					t.Errorf("%q is in %q not %d times", line, text, n)
				}
			}
		})
	}
}

// TestKilledLauncher checks that nothing is left when the launcher is killed.
func TestKilledLauncher(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, `echo $$ > pids; srun -n1 bash -c 'echo $$ >> pids; echo up; exec sleep 1000'`).start()
	j.out("up\n")
	j.signal(0, syscall.SIGKILL)
	<-j.ranks[0].done
	for pid := range strings.FieldsSeq(j.file("pids")) {
		waitGone(t, pid)
	}
}

// TestSecretIsNotShown checks that tasks and the script do not see the secret in their environment.
func TestSecretIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	j := newJob(t, 2, `export KNOWN=yes; srun -n2 env > vars; env >> vars; grep -c ^KNOWN=yes vars; grep -c `+secret+` vars`)
	for _, f := range j.files {
		f.Secret = secret
	}
	j.start().want(1, "3\n0\n")
}
