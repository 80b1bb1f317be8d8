package process

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
)

// ending is how a rank ends.
type ending struct {
	began   fence.Boot // when the process started
	stopAt  fence.Boot // when the stop signal follows the checkpoint signal
	killAt  fence.Boot // when the grace is over; 0: no stop has begun
	asked   bool       // the stop signal has been sent
	apart   []proc.ID  // processes that are still to get it, since they have left the job's session
	cut     bool       // the host's or the cluster's shutdown asked for an end
	over    bool       // the job's first process has ended
	own     bool       // it did so by itself, before the signal of a stop reached it
	clean   bool       // nothing of the rank is left, here or elsewhere
	reached bool       // one of the signals found a process
	prompts prompts
	exit    model.Exit // Delivered and Fenced as they come about, code and signal when the first process has ended, the rest at the end
}

// watch watches the rank until nothing of it is left, and returns how its first process ended. Other
// processes then get the rest of its grace, or a grace of their own if no stop has begun.
func (s *supervisor) watch() model.Exit {
	if s.status.Session == 0 {
		return s.ending.exit
	}
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	settled := time.After(settleAfter)
	s.alarm.set(s.next(Now().Boot))
	for {
		select {
		case <-settled:
			trim()
			settled = time.After(trimEvery)
			continue
		case r, more := <-s.processes.ends:
			if !more {
				s.settle()
				return s.ending.exit
			}
			if r.pid == s.status.Session {
				s.end(r.exit)
				timer.Reset(lastLook) // most jobs leave nothing behind: then the channel is closed before that
			}
			continue
		case <-s.alarm.rings:
		case sig := <-s.heard:
			s.hear(sig)
		case <-s.setup.store.finished():
			s.saved()
		case why := <-s.starting.report:
			s.begun(why)
		case <-s.starting.limit:
			s.running()
		case <-timer.C:
			s.listen()
			timer.Reset(watchEvery)
		}
		s.retell()
		now := s.look()
		s.guard.Extend(now.Boot, fence.Boot(s.run.AliveOf(s.record.Nonce)))
		s.obey(now.Boot)
		s.alarm.set(s.next(now.Boot))
	}
}

// end notes how the job's first process has ended, for the agent, too, in case this process does not live to report the end of the
// rank: processes that are left can take their whole grace.
func (s *supervisor) end(exit model.Exit) {
	if s.starting.report != nil {
		s.begun(<-s.starting.report) // which has ended with the process
	}
	e := &s.ending
	e.over, e.own = true, !e.reached
	e.exit.Code, e.exit.Signal = exit.Code, exit.Signal
	e.exit.Ran, e.exit.Saved, e.exit.OOM = max(0, Now().Boot.Sub(e.began)), s.status.Saved, s.processes.starved(exit)
	s.tellEnd()
}

// tellEnd writes how the job's first process has ended, as far as that is known, unless it is written already.
func (s *supervisor) tellEnd() {
	if e := &s.ending; e.over && (s.status.Ended == nil || *s.status.Ended != e.exit) {
		s.status.Ended = new(e.exit)
		_ = s.tell(s.status.Phase) // if that fails the next look tries again
	}
}

// settle waits, after an end by a SIGTERM that is not Berth's own, for the same signal to this process: a shutdown of the
// host, or the end of the unit that holds the ranks, sends it to all processes in any order. Then the rank is cut off.
func (s *supervisor) settle() {
	e := &s.ending
	if !e.own || e.exit.Signal != uint8(unix.SIGTERM) {
		return
	}
	limit := time.After(shutdownSpan)
	for !e.cut {
		select {
		case sig := <-s.heard:
			s.hear(sig)
		case <-limit:
			return
		}
	}
	e.own, e.exit.Fenced = false, true
	s.tellEnd()
}

// saved notes that the job has just finished a checkpoint.
func (s *supervisor) saved() {
	s.status.Saved = max(1, Now().Boot.Sub(s.ending.began))
	_ = s.tell(s.status.Phase) // if that fails the agent looks again
}

// obey carries out the demands of the fence, the time limit and the agent, and ends what the job's first
// process has left behind.
func (s *supervisor) obey(now fence.Boot) {
	e := &s.ending
	verdict := s.guard.Verdict(now)
	if e.cut {
		verdict = max(verdict, fence.Stop)
	}
	stop := s.orders.Stop
	limit := limit(s.record, &s.orders)
	if limit > 0 && now.Sub(e.began) >= limit && model.ReasonTimeLimit.Outranks(stop) {
		stop = model.ReasonTimeLimit
	}
	over, far := s.scratch.over()
	if over && model.ReasonDiskLimit.Outranks(stop) {
		stop = model.ReasonDiskLimit
	}
	e.exit.Fenced = e.exit.Fenced || verdict != fence.Run && !e.own
	if verdict != fence.Run || stop != model.ReasonNone || e.over {
		s.announce(stop)
		s.stop(now, stop)
	} else if s.status.Frozen == 0 && !s.staged() {
		for _, name := range e.prompts.due(now, e.began, limit, &s.record.Job.Spec) {
			s.processes.tell(name)
		}
	}
	if s.orders.Kill || verdict == fence.Kill || far || e.killAt > 0 && now >= e.killAt {
		e.exit.Fenced = e.exit.Fenced || s.orders.Kill && !e.own
		s.processes.kill()
	}
	s.tellEnd()
}

// announce writes the reason for which signals are about to be sent: if this process is killed among them, that reason decides.
func (s *supervisor) announce(stop model.Reason) {
	begins := stop.Outranks(s.status.Stopping)
	if begins {
		s.status.Stopping = stop
	}
	if begins || s.ending.exit.Fenced && !s.status.Fenced {
		s.status.Fenced = s.ending.exit.Fenced
		_ = s.tell(s.status.Phase) // if that fails the next look tries again
	}
}

// stop takes the steps that are due: checkpoint signal, stop signal. A stronger reason on the way changes the
// reason, not the times.
func (s *supervisor) stop(now fence.Boot, reason model.Reason) {
	e, f := &s.ending, &s.record.Frozen
	sent := false
	if e.killAt == 0 {
		e.stopAt = now
		if sent = !s.staged() && s.processes.tell(s.record.Job.Spec.CheckpointSignal); sent {
			e.stopAt = now.Add(f.CheckpointGrace)
		}
		e.killAt = e.stopAt.Add(f.Grace)
	}
	signal, still := signalOf(s.record.Job.Spec.StopSignal), s.status.Frozen != 0
	if !e.asked && now >= e.stopAt {
		e.asked = true
		reached := false
		reached, e.apart = s.processes.ask(signal, still)
		sent = reached || sent
	}
	if len(e.apart) > 0 && (now >= e.stopAt.Add(f.Grace/2) || !s.processes.session()) {
		s.processes.askApart(e.apart, signal, still)
		e.apart = nil
	}
	e.reached = e.reached || sent
	if reason.Outranks(e.exit.Delivered) && (sent || e.reached && (e.over || lives(s.status.Session))) {
		e.exit.Delivered, s.status.Delivered = reason, reason
		_ = s.tell(s.status.Phase) // in case the rank has to be reaped
	}
}

// freeze freezes the rank since then unless it is frozen already, and thaws it once that is allowed.
func (s *supervisor) freeze(since time.Duration, now fence.Boot) {
	was := &s.status.Frozen
	s.status.Thawed = max(s.status.Thawed, s.orders.Thaw)
	if *was != 0 && fence.MayThaw(now, fence.Boot(*was), 0, false, s.record.Frozen) {
		s.status.Thawed = max(s.status.Thawed, *was)
	}
	switch {
	case since > max(*was, s.status.Thawed):
		*was = since
		s.processes.still()
	case *was != 0 && *was <= s.status.Thawed:
		*was = 0
		s.processes.resume()
	default:
		return
	}
	_ = s.tell(max(s.status.Phase, model.RankTaken)) // if that fails the agent looks again
}

// finish records how the job ended, once all processes of the rank have ended.
func (s *supervisor) finish(exit model.Exit) error {
	exit.Ran = max(0, Now().Boot.Sub(s.ending.began))
	if s.setup.store.last() {
		s.saved()
	}
	exit.Saved = min(s.status.Saved, exit.Ran)
	if s.status.Session != 0 {
		exit.OOM = s.processes.starved(exit)
		s.processes.end()
	}
	s.scratch.end(&exit)
	drained := drain(&s.output)
	if text := exit.DiskText(); text != "" {
		s.logLine("the job was stopped: it " + text)
	}
	s.undo(exit)
	s.setup.store.forget(len(s.orders.Gang) <= 1)
	s.folder.Discard(runner.TmpFolder) // first, for it may be what has filled the disk
	err := s.conclude(exit)
	s.ending.clean = drained && err == nil
	return err
}

// drain waits for the rest of the output; false: a process outside the rank holds the pipe.
func drain(output *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { output.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(drainLimit):
		return false
	}
}
