package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/trust"
)

// mutant is a way to break a rule of the protocol, and a course of events in
// which that does harm. The same course without the fault in the rule must pass.
type mutant struct {
	name   string
	breach string // the violation that must be found
	setup  Setup
	script func(w *World, broken bool)
}

func mutants() []mutant {
	two := Setup{Seed: 1, Peers: 3, Nodes: 2, GPUs: 1, Tuning: leisurely()}
	quick := two
	quick.Tuning.Timeouts = cluster.LAN // a leader is given up within a second
	four, lagging := two, two
	four.Nodes = 4
	lagging.Twists.StalePolls = true
	deaf := two
	deaf.Twists.PollPause = time.Minute
	alone, across, early := quick, quick, two
	early.Twists.TakenEarly = true
	alone.Peers = 1
	across.TLS = true
	return []mutant{
		{"count_from_answer", BreachTwoAttempts, two, countFromAnswer},
		{"no_seq_check", BreachTwoAttempts, two, noSeqCheck},
		{"timers_kept", BreachTwoAttempts, two, timersKept},
		{"memory_grants", BreachTwoAttempts, two, memoryGrants},
		{"absence_kills", BreachUnwanted, lagging, absenceKills},
		{"foreign_boot_id", BreachTwoAttempts, two, foreignBoot},
		{"old_set_new_lease", BreachTwoAttempts, deaf, oldSetNewLease},
		{"gang_lost_by_one_rank", BreachTwoAttempts, four, gangLostByOneRank},
		{"new_keys", BreachTwice, quick, newKeys},
		{"vote_at_once", BreachProgress, alone, voteAtOnce},
		{"no_generation", BreachTwoAttempts, across, noGeneration},
		{"forgets", BreachStuck, early, killedBeforeTheFolder},
	}
}

// Each fault in a rule is found, by name; without it nothing is.
func TestMutant(t *testing.T) {
	scripted(t)
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			parallel(t)
			r := run(t, m.setup, func(w *World) { m.script(w, false) })
			describeFailure(t, m.setup.Seed, r)
			broken := m.setup
			switch m.name {
			case "count_from_answer":
				broken.Twists.CountFromAnswer = true
			case "old_set_new_lease":
				broken.Twists.AnySet = true
			case "absence_kills":
				broken.Twists.AbsenceKills = true
			case "new_keys":
				broken.Twists.NewKeys = true
			case "vote_at_once":
				broken.Unguarded.VoteAtOnce = true
			case "forgets":
				broken.Twists.Forgets = true
			case "no_generation":
				broken.Twists.NoGeneration = true
			}
			r = run(t, broken, func(w *World) { m.script(w, true) })
			if r.Broken == nil || r.Broken.Name != m.breach {
				trace, log, err := r.Save(t.ArtifactDir())
				t.Errorf("the broken rule does the harm %v, not %q; see %s, %s, %v", r.Broken, m.breach, trace, log, err)
			}
		})
	}
}

// stubborn returns a job that nothing but a kill ends soon.
func stubborn(gpus, nodes uint32, t, grace time.Duration) *command.Submit {
	job := plainJob
	job.Spec.Command = behavior{Run: 80 * time.Second, IgnoreSig: true}.command()
	job.Spec.GPUs, job.Spec.Nodes, job.Spec.DisconnectGrace, job.Spec.Grace = gpus, nodes, t, grace
	return &job
}

// place submits a job and waits until its ranks run; it returns their hosts, rank
// by rank.
func place(w *World, job *command.Submit) []*host {
	u := newUser(w, "someone", 7)
	defer u.close()
	// Before all nodes are known, a job that needs them all is refused: no node could ever hold it.
	w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Leases.Len() == w.Nodes })
	d := u.submit(w.ctx, job)
	ranks := int(max(1, job.Spec.Nodes))
	var on []*host
	found := w.Until(time.Minute, func() bool {
		on = nil
		for r := range ranks {
			on = append(on, runs(w, model.RankKey{Job: d.id, N: 1, Rank: uint32(r)}))
		}
		s := w.oracle.now()
		t, _ := s.Tasks.Get(model.TaskKey{Job: d.id})
		return !slices.Contains(on, nil) && t.State == model.TaskRunning
	})
	if !found {
		w.trace.Break("scenario", "the job does not start; its submission was answered with %q", d.code)
		return slices.Repeat(w.hosts[:1], ranks)
	}
	return on
}

// runs finds the host on which a rank's process is.
func runs(w *World, r model.RankKey) *host {
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	for _, h := range w.hosts {
		if h.kernel.has(r) {
			return h
		}
	}
	return nil
}

// wait lets time pass, or less if a check fails.
func wait(w *World, d time.Duration) { w.Until(d, func() bool { return false }) }

// lease returns a node's lease as the leader knows it.
func lease(w *World, h *host) model.Lease {
	s := w.oracle.now()
	l, _ := s.Leases.Get(h.id.node)
	return l
}

// renewed waits until a node's lease has just been renewed; after a recovery, until the node follows that.
func renewed(w *World, h *host) {
	before := lease(w, h)
	if !w.Until(trust.FollowAfter+10*time.Second, func() bool { return lease(w, h).Seq > before.Seq }) {
		w.trace.Break("scenario", "the lease of %s is not renewed", h.name)
	}
}

// giveUp has a leader with wrong rules give up a rank: it calls the node suspect
// and the rank lost, by a renewal that it takes for the newest.
func giveUp(w *World, rank model.RankKey, l model.Lease) {
	p := w.leader()
	if p == nil {
		return
	}
	var both []command.Command
	for _, b := range []command.Body{
		&command.Suspect{Node: l.Node, Epoch: l.Epoch, Seq: l.Seq}, &command.RankLost{Rank: rank, Epoch: l.Epoch, Seq: l.Seq},
	} {
		c, err := command.New("peer:"+p.name, b)
		if err != nil {
			w.trace.Break("scenario", "%v", err)
			return
		}
		both = append(both, c)
	}
	results, _, err := p.running().Propose(w.ctx, both...)
	w.trace.Note("gives up %s by renewal %d: %v, %v", rank, l.Seq, results, err)
}

var firstRank = model.RankKey{Job: 1, N: 1}
