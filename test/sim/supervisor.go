package sim

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// watchEvery is how often a supervisor looks at its rank and its clocks.
const watchEvery = 200 * time.Millisecond

// supervisor prepares, starts, watches and ends one rank. It lives on when the agent does not.
type supervisor struct {
	h      *host
	u      *unit
	disk   store
	before fence.Reading
	began  fence.Boot // when the process started
	killAt fence.Boot // the grace of a stop is over; 0: none
	exit   model.Exit // Delivered and Fenced, as they come about
}

// supervise starts a supervisor for a unit. The host's lock is held.
func (h *host) supervise(u *unit, disk store) {
	ctx, cancel := context.WithCancel(h.life.ctx)
	u.alive, u.end = true, cancel
	s := &supervisor{h: h, u: u, disk: disk, before: h.clock.reading()}
	h.w.work.Go(func() {
		defer cancel()
		s.live(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		u.alive = false
	})
}

func (s *supervisor) live(ctx context.Context) {
	if !s.prepare(ctx) || !s.start(ctx) {
		return
	}
	for s.watch() {
		if !s.h.pause(ctx, watchEvery) {
			return
		}
	}
	s.finish(ctx)
}

// prepare gets everything ready and waits for the order to run.
func (s *supervisor) prepare(ctx context.Context) bool {
	if !s.h.pause(ctx, s.h.w.draw(50*time.Millisecond, 1500*time.Millisecond)) {
		return false
	}
	for {
		now := s.h.clock.reading().Boot
		start := s.disk.run.get()
		s.h.mu.Lock()
		s.u.guard.Extend(now, start)
		free := s.h.free(s.u.GPUs)
		if free && s.u.phase == model.RankTaken {
			s.u.phase = model.RankReady
		}
		given, run := s.u.orders.refuse || s.u.guard.Verdict(now) != fence.Run, s.u.orders.run
		frozen, since := s.u.frozen != 0, s.u.guard.Start
		s.h.mu.Unlock()
		switch {
		case given:
			return false
		case free && run && !frozen && fence.MayStart(now, since, s.u.Frozen):
			return true
		case !s.h.pause(ctx, watchEvery):
			return false
		}
	}
}

// start makes the latch and then the process.
func (s *supervisor) start(ctx context.Context) bool {
	latch, err := s.disk.latch(s.u.Rank, latchStarted)
	if err != nil || latch != latchStarted || !s.h.pause(ctx, 0) {
		return false
	}
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	now := s.h.clock.reading().Boot
	if ctx.Err() != nil || !fence.MayStart(now, s.u.guard.Start, s.u.Frozen) {
		return false // the disk was slow: the latch stays, and no other supervisor starts this rank
	}
	s.began = s.h.clock.reading().Boot
	s.u.proc = s.h.kernel.spawn(s.u.Rank, s.u.GPUs, parseBehavior(s.u.Command))
	s.u.phase = model.RankRunning
	s.h.w.truth.started(s.u.Rank, s.h.name)
	s.h.w.rules.started(s.h, s.u.proc)
	return true
}

// watch looks once, and reports whether the rank's process still lives.
func (s *supervisor) watch() bool {
	start := s.disk.run.extent()
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	now := s.h.clock.reading()
	if fence.MustFreeze(s.before, now, s.u.Frozen.T) {
		s.h.freeze(s.u, now.Boot)
	}
	s.before = now
	s.h.kernel.settle()
	if s.u.proc.gone {
		return false
	}
	s.u.guard.Extend(now.Boot, start)
	s.obey(now.Boot)
	s.h.kernel.settle()
	return !s.u.proc.gone
}

// obey carries out the demands of the fence, the time limit and the agent.
func (s *supervisor) obey(now fence.Boot) {
	k, f := &s.h.kernel, s.u.Frozen
	verdict := s.u.guard.Verdict(now)
	if verdict != fence.Run && !s.exit.Fenced {
		s.exit.Fenced = true
		k.signal(s.u.proc)
	}
	stop := s.u.orders.stop
	if f.TimeLimit > 0 && now.Sub(s.began) >= f.TimeLimit && model.ReasonTimeLimit.Outranks(stop) {
		stop = model.ReasonTimeLimit
	}
	if stop.Outranks(s.exit.Delivered) {
		if s.killAt == 0 {
			s.killAt = now.Add(f.CheckpointGrace + f.Grace)
		}
		s.exit.Delivered = stop
		k.signal(s.u.proc)
	}
	if s.u.orders.kill || verdict == fence.Kill || s.killAt > 0 && now >= s.killAt {
		s.exit.Fenced = s.exit.Fenced || s.u.orders.kill
		k.killAll(s.u.Rank)
	}
}

// finish ends what the rank's process left behind, and records how it ended.
func (s *supervisor) finish(ctx context.Context) {
	for {
		s.h.mu.Lock()
		s.h.kernel.killAll(s.u.Rank)
		left := s.h.kernel.has(s.u.Rank)
		exit := s.u.proc.exit
		exit.Delivered, exit.Fenced = s.exit.Delivered, s.exit.Fenced
		exit.Ran = s.h.clock.reading().Boot.Sub(s.began)
		s.h.mu.Unlock()
		if !left && s.disk.put(folderName(s.u.Rank)+exitSuffix, exit) == nil {
			s.h.mu.Lock()
			if ctx.Err() == nil {
				s.u.phase, s.u.exit = model.RankExited, exit
				s.h.w.truth.ended(s.u.Rank, exit)
			}
			s.h.mu.Unlock()
			return
		}
		if !s.h.pause(ctx, watchEvery) {
			return
		}
	}
}
