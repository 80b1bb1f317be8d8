package process

import (
	"fmt"
	"io"
	"os"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// start sets the latch and starts the job. It reports whether the rank has started, which is also true if its
// program cannot be started: then the rank ends with that.
func (s *supervisor) start() (bool, error) {
	s.reservePort()
	if _, mine, err := s.folder.Latch(runner.LatchStarted); err != nil || !mine {
		return false, err
	}
	now := Now()
	if !fence.MayStart(now.Boot, s.guard.Start, s.record.Frozen) {
		return false, nil // the disk was slow: the latch stays, and no other supervisor starts this rank
	}
	s.ending.began = now.Boot
	s.port.Open()
	err := s.spawn()
	if err == nil {
		_ = s.tell(s.status.Phase) // what there is to be reaped if this process is killed
		s.scratch.begin(&s.place, s.setup.store, s.processes.pids)
		return true, nil
	}
	e := &s.ending
	e.exit, e.over = model.Exit{Code: int32(isolate.Code(err))}, true
	e.exit.Refused = ofNode(err, s.setup.account, s.record.Job.Spec.MemoryMB > 0)
	s.status.Ended = new(e.exit)
	s.output.Wait()
	s.logLine(fmt.Sprintf("the job cannot be started: %v", err))
	if e.exit.Refused { // it does not count as started
		s.status.Note = model.Clip(err.Error())
		return true, nil
	}
	_ = s.tell(model.RankRunning) // a failed write is repeated
	return true, nil
}

// spawn starts the first process. Nothing in it waits for what users can change: from here on the rank must obey its fence.
func (s *supervisor) spawn() error {
	var pumps [2]*pump
	for i, name := range []string{runner.StdoutFile, runner.StderrFile} {
		file, err := s.folder.Create(name)
		if err == nil {
			pumps[i], err = newPump(file)
		}
		if err != nil {
			return err
		}
	}
	pid, report, err := 0, (*os.File)(nil), s.setup.err // of a job that may not run here
	if err == nil {
		b := s.begin()
		err = exposed(func() (err error) { pid, report, err = b.launch(pumps); return err })
		s.status.Note = s.setup.note
	}
	for _, p := range pumps {
		p.run(&s.output)
	}
	if err != nil {
		return err
	}
	s.starting = follow(report)
	s.status.Session, s.processes.first, s.processes.leads = pid, pid, s.record.Job.Spec.Slurm != ""
	if e, ok := proc.Look(pid); ok {
		s.status.Begun = e.Born
	}
	go reap(s.processes.ends)
	return nil
}

// logLine writes a line of Berth's own to the job's standard error, to which the job no longer writes.
func (s *supervisor) logLine(text string) {
	if f, openErr := s.folder.Create(runner.StderrFile); openErr == nil {
		if end, err := f.Seek(0, io.SeekEnd); err == nil && end >= 0 {
			_, _ = fmt.Fprintf(f, "berth: %s\n", text)
		}
		_ = f.Close()
	}
}
