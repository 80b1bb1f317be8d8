package batch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
)

// outsideVariable names the folder of the first rank to an srun that does not belong to the job.
const outsideVariable = "TEST_OUTSIDE"

// dialTest is how an srun of a test that does not belong to the job reaches the server of steps.
func dialTest(ref form.JobRef) (*link.Conn, error) {
	folder := os.Getenv(outsideVariable)
	if folder == "" {
		return nil, fmt.Errorf("there is no job %s", ref)
	}
	return link.DialLocal(folder)
}

// newAllocation returns a job that runs steps only.
func newAllocation(t *testing.T, nodes int) *job {
	t.Helper()
	j := newJob(t, nodes, "echo the script runs")
	for _, f := range j.files {
		f.Request.Allocation = true
	}
	return j
}

// outside runs srun as a process that does not belong to the job, and returns its output and how it ended.
func (j *job) outside(args ...string) (string, error) {
	j.t.Helper()
	cmd := exec.Command("srun", args...)
	cmd.Path, cmd.Err = j.bin+"/srun", nil
	cmd.Env = append(j.env, outsideVariable+"="+j.files[0].Folder, "SLURM_JOB_ID=7")
	cmd.Dir = j.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ready waits until steps can be asked for.
func (j *job) ready() {
	j.t.Helper()
	waitUntil(j.t, "the server of steps answers", func() bool {
		c, err := link.DialLocal(j.files[0].Folder)
		return err == nil && c.Close() == nil
	})
}

// TestAllocation checks that steps from outside of an allocation run in it, that the secret stays inside, and that the allocation ends when
// it is given back, with all of its steps.
func TestAllocation(t *testing.T) {
	t.Parallel()
	j := newAllocation(t, 2).start()
	j.ready()
	out, err := j.outside("-l", "bash", "-c", "echo $SLURM_JOB_ID $SLURMD_NODENAME $SLURM_NTASKS")
	if err != nil || !strings.Contains(out, "0: 7 a 4\n") || !strings.Contains(out, "3: 7 b 4\n") {
		t.Errorf("a step from outside writes %q, %v", out, err)
	}
	if out, err := j.outside("-n1", "bash", "-c", "exit 9"); err == nil || !strings.Contains(out, "srun: error: a: task 0: Exited with exit code 9") {
		t.Errorf("a step that fails: %q, %v", out, err)
	}
	c, err := link.DialLocal(j.files[0].Folder)
	if err != nil {
		t.Fatal(err)
	}
	var file jobfile.File
	if err := errors.Join(c.Send(link.KindDescribe), c.Expect(link.KindJob, &file)); err != nil || file.Job.ID != 7 ||
		len(file.Job.Nodes) != 2 || file.Secret != "" || file.Ranks != nil {
		t.Errorf("the job is described as %+v, %v", file, err)
	}
	left := make(chan string, 1)
	go func() {
		out, _ := j.outside("-n1", "bash", "-c", "echo $$ > pid; exec sleep 1000") // it ends with the allocation
		left <- out
	}()
	waitUntil(t, "the step runs", func() bool { return strings.HasSuffix(j.file("pid"), "\n") })
	if err := c.Send(link.KindRelease); err != nil {
		t.Fatal(err)
	}
	j.want(0, "")
	waitGone(t, strings.TrimSpace(j.file("pid")))
	<-left
}

// TestAllocationCanceled checks that the stop signal reaches the steps of an allocation, and that a job with a script cannot be given back.
func TestAllocationCanceled(t *testing.T) {
	t.Parallel()
	j := newAllocation(t, 1).start()
	j.ready()
	done := make(chan string, 1)
	go func() {
		out, _ := j.outside("-n1", "bash", "-c", "trap 'echo stopped; exit 0' TERM; touch up; while :; do sleep 0.01; done")
		done <- out
	}()
	waitUntil(t, "the step runs", func() bool { return j.file("up") == "" })
	j.signal(0, syscall.SIGTERM)
	if out := <-done; !strings.Contains(out, "stopped\n") {
		t.Errorf("the step writes %q", out)
	}
	if code := j.end(); code != -int(syscall.SIGTERM) {
		t.Errorf("the allocation ends with %d", code)
	}

	script := newJob(t, 1, "touch up; while [ ! -e go ]; do sleep 0.01; done; echo whole").start()
	script.ready()
	c, err := link.DialLocal(script.files[0].Folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send(link.KindRelease); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); err == nil {
		t.Error("a job with a script answers when it is given back")
	}
	_, _ = script.outside("--overlap", "-n1", "touch", "go") // which ends the script, and so the step
	script.want(0, "whole\n")
}

// TestSignalJob checks which processes a signal from outside of a job reaches.
func TestSignalJob(t *testing.T) {
	t.Parallel()
	const script = `trap 'echo script' USR1; trap 'over=1' USR2
(trap 'echo child' USR1; touch child; while [ ! -e stop ]; do sleep 0.01; done) &
srun -n1 -w a bash -c 'trap "echo task-a" USR1; touch up-a; while [ ! -e stop-a ]; do sleep 0.01; done' &
srun -n1 -w b bash -c 'trap "echo task-b" USR1; touch up-b; while [ ! -e stop ]; do sleep 0.01; done; exit 3' &
while [ -z "$over" ]; do sleep 0.01; done
wait`
	for name, c := range map[string]struct {
		signal link.Signal
		want   []string
	}{
		"steps":    {link.Signal{Number: 10, Steps: true, Step: -1}, []string{"task-a", "task-b"}},
		"script":   {link.Signal{Number: 10, Script: true}, []string{"script"}},
		"all":      {link.Signal{Number: 10, Script: true, Group: true, Steps: true, Step: -1}, []string{"script", "child", "task-a", "task-b"}},
		"one step": {link.Signal{Number: 10, Steps: true, Step: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, script).start()
			for _, file := range []string{"child", "up-a", "up-b"} {
				waitUntil(t, file+" is there", func() bool { return j.file(file) == "" })
			}
			if c.want == nil { // which step is which depends on their order
				c.want = []string{"task-"}
			}
			j.ask(c.signal, "")
			for _, text := range c.want {
				j.out(text)
			}
			j.ask(link.Signal{Number: 10, Steps: true, Step: 5}, "job 7 has no step 5 that runs")
			j.ask(link.Signal{Number: 65, Script: true}, "there is no signal 65")
			for _, file := range []string{"stop", "stop-a"} {
				if err := os.WriteFile(j.dir+"/"+file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			j.ask(link.Signal{Number: 12, Script: true}, "")
			j.end()
			got := strings.Fields(j.ranks[0].stdout.String())
			slices.Sort(got)
			slices.Sort(c.want)
			if name == "one step" && len(got) == 1 && strings.HasPrefix(got[0], "task-") {
				got = c.want
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the signal reached %q, want %q", got, c.want)
			}
		})
	}
}

// ask sends a signal as scancel does, and checks the refusal; empty: it must be carried out.
func (j *job) ask(s link.Signal, refusal string) {
	j.t.Helper()
	c, err := link.DialLocal(j.files[0].Folder)
	if err != nil {
		j.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SendValue(link.KindSignalJob, s); err != nil {
		j.t.Fatal(err)
	}
	f, err := c.Receive()
	if err != nil || string(f.Body) != refusal || (f.Kind == link.KindRefused) != (refusal != "") {
		j.t.Errorf("%+v is answered with %d %q, %v", s, f.Kind, f.Body, err)
	}
}

// screen is a terminal in which a program runs, as its user sees and uses it.
type screen struct {
	*os.File
	t     *testing.T
	seen  buffer
	after int // what was expected ends there
	over  chan struct{}
}

func newScreen(t *testing.T, cmd *exec.Cmd, rows, columns uint16) *screen {
	t.Helper()
	s := &screen{t: t, over: make(chan struct{})}
	var err error
	if s.File, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.over)
		data := make([]byte, 1<<12)
		for {
			n, err := s.Read(data)
			_, _ = s.seen.Write(data[:n]) // never fails
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("on the screen: %q", s.seen.String())
		}
	})
	return s
}

// expect waits for a text after what was expected before.
func (s *screen) expect(text string) {
	s.t.Helper()
	waitUntil(s.t, text+" is shown", func() bool { return strings.Contains(s.seen.String()[s.after:], text) })
	s.after += strings.Index(s.seen.String()[s.after:], text) + len(text)
}

func (s *screen) enter(text string) {
	s.t.Helper()
	if _, err := s.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// TestTerminal checks the terminal of a step: its size, Ctrl-C, the end of its input, and that the keys belong to srun again at the end.
func TestTerminal(t *testing.T) {
	t.Parallel()
	j := newAllocation(t, 1).start()
	j.ready()
	cmd := exec.Command("srun", "--pty", "-n2", "bash", "--norc", "-i")
	cmd.Path, cmd.Err = j.bin+"/srun", nil
	cmd.Env = append(j.env, outsideVariable+"="+j.files[0].Folder, "SLURM_JOB_ID=7", "PS1=ready> ", "TERM=dumb")
	cmd.Dir = j.dir
	s := newScreen(t, cmd, 33, 111)
	s.expect("ready> ")
	s.enter("stty size; echo task $SLURM_PROCID of $SLURM_NTASKS\r")
	s.expect("33 111\r\n")
	s.expect("task 0 of 2\r\n")
	s.expect("ready> ")
	if err := pty.Setsize(s.File, &pty.Winsize{Rows: 50, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	s.enter("until [ \"$(stty size)\" = '50 90' ]; do sleep 0.01; done; echo larg''er\r")
	s.expect("larger\r\n")
	s.expect("ready> ")
	s.enter("bash -c 'echo sleep\\s; sleep 1000'\r")
	s.expect("sleeps\r\n")
	s.enter("\x03")
	s.expect("ready> ")
	s.enter("\x04")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 { // that of the sleep, which Ctrl-C has ended
		t.Errorf("srun ends with %v", err)
	}
	<-s.over
	_ = s.Close()
}

// TestTerminalOfPipe checks that --pty has no effect without a terminal.
func TestTerminalOfPipe(t *testing.T) {
	t.Parallel()
	j := newAllocation(t, 1).start()
	j.ready()
	out, err := j.outside("--pty", "-n1", "bash", "-c", "tty; cat") // standard input is /dev/null
	if err != nil || out != "srun: error: Not using a pseudo-terminal, disregarding --pty option\nnot a tty\n" {
		t.Errorf("a terminal without input: %q, %v", out, err)
	}
}
