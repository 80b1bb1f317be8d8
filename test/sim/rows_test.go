package sim

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// course is one row of the table of failures in docs/design/failures.md: what breaks under a
// job that runs for eighty seconds under a lease of half a minute, and what must
// have become of the job by then.
type course struct {
	what   string
	before func(*World) // before the job comes; nil: nothing
	breaks func(*World, *host)
	want   func(*World, *host) string // what is wrong; "": nothing
}

// rows holds a course against the job's end. The course has no other faults, so
// what comes of it is certain.
func rows(t *testing.T, courses ...course) {
	t.Helper()
	scripted(t)
	for _, c := range courses {
		t.Run(c.what, func(t *testing.T) {
			parallel(t)
			s, wrong := quiet(Setup{Seed: 1, Peers: 3, Nodes: 2, GPUs: 1}), ""
			r := run(t, s, func(w *World) {
				if c.before != nil {
					c.before(w)
				}
				h := place(w, stubborn(1, 0, short, 0))[0]
				renewed(w, h)
				c.breaks(w, h)
				wrong = c.want(w, h)
			})
			describeFailure(t, s.Seed, r)
			if wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// one runs on: the job ends well in its first attempt.
func one(w *World, _ *host) string { return ends(w, model.TaskCompleted, 1) }

// two: the first attempt ends as lost, and the next one well.
func two(w *World, _ *host) string {
	if r := firstEnd(w); r.Phase != model.RankLost {
		return "the first attempt is " + r.Phase.String()
	}
	return ends(w, model.TaskCompleted, 2)
}

// ends waits for the end of the only job.
func ends(w *World, state model.TaskState, attempts uint32) string {
	var task model.Task
	w.Until(5*time.Minute, func() bool {
		s := w.oracle.now()
		task, _ = s.Tasks.Get(firstRank.Attempt().TaskKey())
		return task.State.Terminal()
	})
	if task.State != state || task.Attempts != attempts {
		return "the job is " + task.State.String() + " after " + model.JobID(task.Attempts).String() + " attempts"
	}
	return ""
}

// firstEnd waits for the end of the first attempt.
func firstEnd(w *World) (r model.Rank) {
	w.Until(5*time.Minute, func() bool {
		s := w.oracle.now()
		r, _ = s.Ranks.Get(firstRank)
		return r.Phase.Ended()
	})
	return r
}

// A stopped leader is replaced, and finds out when it goes on; a node that is cut off from the leader alone
// renews by way of any other peer.
func TestTheLeaderIsAway(t *testing.T) {
	rows(t,
		course{"paused", nil, func(w *World, _ *host) {
			l := w.leader()
			l.mu.Lock()
			l.net.Pause()
			l.mu.Unlock()
			w.later(20*time.Second, func() { l.mu.Lock(); l.net.Resume(); l.mu.Unlock() })
			if !w.Until(15*time.Second, func() bool { now := w.leader(); return now != nil && now != l }) {
				w.trace.Break("scenario", "no peer takes over from a paused leader")
			}
		}, one},
		course{"cut off from the node", nil, func(w *World, h *host) {
			l := w.leader()
			w.net.CutBoth(l.name, h.name)
			w.later(70*time.Second, func() { w.rejoin(h.name) })
			wait(w, 40*time.Second) // longer than the lease
		}, one},
	)
}

// A job goes on while its node is away for less than the lease; for longer, it is
// ended in time and starts again elsewhere.
func TestTheNodeIsAway(t *testing.T) {
	rows(t,
		course{"for less than the lease", nil, func(w *World, h *host) { w.cutHost(h, 15*time.Second, true, true) }, one},
		course{"for longer", nil, func(w *World, h *host) { w.cutHost(h, 60*time.Second, true, true) }, two},
		course{"without power, for good", nil, func(_ *World, h *host) { h.powerOff() }, two},
	)
}

// When the wall clocks of all peers and nodes jump ahead together, entries are refused
// until the state's clock has followed; that takes moments, and no lease runs out meanwhile.
func TestAllClocksJumpAhead(t *testing.T) {
	ahead := func(d time.Duration) func(*World, *host) {
		return func(w *World, _ *host) {
			before := w.oracle.now()
			for _, p := range w.peers() {
				p.clock.jump(d)
			}
			for _, h := range w.hosts {
				h.clock.jump(d)
			}
			if !w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Settings().Clock.Sub(before.Settings().Clock) >= d }) {
				w.trace.Break("scenario", "ten seconds after all clocks jumped ahead by %v the state's clock has not followed", d)
			}
		}
	}
	rows(t,
		course{"by ten minutes", nil, ahead(10 * time.Minute), one},
		course{"by twelve hours", nil, ahead(12 * time.Hour), one},
	)
}

// A node that is back under another boot reports at once that its ranks are dead: the next attempt does not
// wait for the lease.
func TestTheNodeReboots(t *testing.T) {
	rows(t, course{"soon", nil, func(w *World, h *host) {
		h.powerOff()
		w.later(3*time.Second, h.powerOn)
		began := time.Now()
		if r := firstEnd(w); r.Phase != model.RankLost || time.Since(began) > short/2 {
			w.trace.Break("scenario", "the first attempt is %s after %s", r.Phase, time.Since(began))
		}
	}, two})
}

// An agent that is gone for good takes no job down before its lease is over: the
// supervisor ends it then. One that comes back takes the job over.
func TestTheAgentIsAway(t *testing.T) {
	rows(t,
		course{"for good", nil, func(w *World, h *host) {
			h.stopAgent()
			wait(w, 15*time.Second)
			if runs(w, firstRank) != h {
				w.trace.Break("scenario", "the job did not outlive its agent")
			}
		}, two},
		course{"for a while", nil, func(w *World, h *host) {
			h.stopAgent()
			wait(w, 15*time.Second)
			h.restartAgent()
		}, one},
	)
}

// A data folder that is gone, or as it was before the job came, knows nothing of the job: the job is given up
// after its lease, however lively the node, and ended there.
func TestTheDataFolderIsLost(t *testing.T) {
	old := map[string]*simdisk.Disk{}
	rows(t,
		course{"wiped", nil, func(_ *World, h *host) { h.wipe() }, two},
		course{"rolled back", func(w *World) {
			w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Leases.Len() == w.Nodes })
			for _, h := range w.hosts {
				renewed(w, h)
				h.onDisk(func(d *simdisk.Disk) { old[h.name] = d.Clone() })
			}
		}, func(w *World, h *host) {
			h.powerOff()
			h.onDisk(old[h.name].CopyTo)
			w.later(3*time.Second, h.powerOn)
		}, two},
	)
}

// A cancel of a job whose node is away is acknowledged at once; the job is ended at the latest when its lease
// is, and never starts again.
func TestACancelWhileTheNodeIsAway(t *testing.T) {
	rows(t, course{"for longer than the lease", nil, func(w *World, h *host) {
		w.cutHost(h, 60*time.Second, true, true)
		u := newUser(w, "another", 8)
		defer u.close()
		u.cancel(w.ctx, firstRank.Job)
		s := w.oracle.now()
		if a, _ := s.Attempts.Get(firstRank.Attempt()); a.Stop != model.ReasonCancel || runs(w, firstRank) != h {
			w.trace.Break("scenario", "the attempt stops for %s", a.Stop)
		}
	}, func(w *World, _ *host) string { return ends(w, model.TaskCanceled, 1) }})
}

// quiet gives peers of a wide network settings with few messages and so low costs.
func quiet(s Setup) Setup {
	s.Tuning.Timeouts, s.Tuning.CommitTimeout = cluster.WAN, 200*time.Millisecond
	return s
}
