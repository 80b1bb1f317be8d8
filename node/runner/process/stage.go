package process

import (
	"os"
	"syscall"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// Execute is the program's part between a supervisor and a job: it becomes the job. It returns only on failure: the exit
// code, after printing the reason.
func Execute() int { return isolate.Stage() }

// stage starts the stage, which is this program again: the same file that runs here, even if another one has been installed
// in its place. What the job names, its folder and its program, is touched by the stage alone: a file system that hangs
// keeps no supervisor from its orders. The report ends when the stage has become the job or has ended; it has text if the
// host kept the stage from that.
func (g *begin) stage(attr *syscall.ProcAttr, p *isolate.Plan) (pid int, report *os.File, err error) {
	file, err := p.File()
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = file.Close() }()
	report, end, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = end.Close() }()
	attr.Dir, attr.Files = "/", append(attr.Files, file.Fd(), end.Fd())
	attr.Env = append(assign("GOMAXPROCS", "1", "GOGC", "off", runner.NonceVariable, g.record.Nonce), devices(g.record.GPUs)...)
	pid, err = syscall.ForkExec("/proc/self/exe", []string{"berth", "supervise", "--exec"}, attr) //nolint:gosec // this program
	if err != nil {
		_ = report.Close() // nothing was written to it
		return 0, nil, err
	}
	return pid, report, nil
}

// staged reports whether the first process is not the job yet: it knows no signal of the job.
func (s *supervisor) staged() bool {
	if s.starting.report != nil && s.starting.over() {
		s.begun(<-s.starting.report)
	}
	return s.starting.report != nil
}

// begun notes that the first process has become the job, or, with a reason, that the host has kept it from that: then the
// rank does not count as started.
func (s *supervisor) begun(why string) {
	s.starting = starting{}
	if why != "" {
		s.ending.exit.Refused, s.status.Note = true, model.Clip(why)
		return
	}
	s.running()
}

// running tells that the rank runs.
func (s *supervisor) running() {
	s.starting.limit = nil
	if s.status.Phase < model.RankRunning {
		_ = s.tell(model.RankRunning) // a failed write is repeated
	}
}
