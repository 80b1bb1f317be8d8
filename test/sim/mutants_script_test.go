package sim

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

const short = model.MinDisconnectGrace

// countFromAnswer: an agent receives answers late, and then none arrives any more. An agent that counts from
// an answer trusts a lease that began before it.
func countFromAnswer(w *World, _ bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	h.lagBehind(14 * time.Second)
	wait(w, 20*time.Second)
	renewed(w, h)
	for _, p := range w.peers() {
		w.net.Cut(h.name, p.name)
	}
	wait(w, 60*time.Second)
	h.lagBehind(0)
}

// noSeqCheck: a leader gives a rank up by a renewal that was the newest when it
// began to think.
func noSeqCheck(w *World, broken bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	l := lease(w, h)
	wait(w, 5*time.Second)
	renewed(w, h)
	w.cutHost(h, 12*time.Second, true, true)
	if broken {
		l = lease(w, h) // as if there were no comparison
	}
	giveUp(w, firstRank, l)
	wait(w, 12*time.Second)
}

// timersKept: a leader leads again, and counts a node's silence from when it led
// before.
func timersKept(w *World, broken bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	former := w.leader()
	since := time.Now()
	hand := func(to *peer) {
		w.Until(30*time.Second, func() bool {
			l := w.leader()
			if l != nil && l != to && l.running() != nil {
				_ = l.running().Transfer(w.ctx, model.PeerID(to.name))
			}
			return l == to
		})
	}
	others := slices.DeleteFunc(w.peers(), func(p *peer) bool { return p == former })
	hand(others[0])
	wait(w, 36*time.Second)
	hand(former)
	if !broken {
		since = time.Now()
	}
	renewed(w, h)
	w.cutHost(h, 15*time.Second, true, true)
	wait(w, time.Second)
	frozen := stubborn(1, 0, short, 0).Spec.Freeze()
	if time.Since(since) >= frozen.LostAfter() {
		giveUp(w, firstRank, lease(w, h))
	}
	wait(w, 15*time.Second)
}

// memoryGrants: a leader without a majority goes on to answer a node that is cut
// off with it.
func memoryGrants(w *World, broken bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	l := w.leader()
	l.grants.Store(broken)
	for _, p := range w.peers() {
		if p != l {
			w.net.CutBoth(p.name, l.name)
			w.net.CutBoth(p.name, h.name)
		}
	}
	for _, other := range w.hosts {
		if other != h {
			w.net.CutBoth(other.name, l.name)
		}
	}
	wait(w, 60*time.Second)
	l.grants.Store(false)
}

// absenceKills: a peer that lags answers a poll after the rank has started.
func absenceKills(w *World, _ bool) {
	lags := w.peers()[0]
	if w.Until(10*time.Second, func() bool { return w.leader() != nil }); w.leader() == lags {
		lags = w.peers()[1]
	}
	w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Leases.Len() == w.Nodes })
	renewed(w, w.hosts[0])
	renewed(w, w.hosts[1])
	caughtUp(w, lags) // a peer that has passed on a write later than its state refuses reads, for as long as it lags
	w.net.Isolate(lags.name)
	h := place(w, stubborn(1, 0, 2*time.Minute, 0))[0]
	for _, p := range w.peers() {
		if p != lags {
			w.net.CutBoth(p.name, h.name)
		}
	}
	w.net.Heal(lags.name, h.name)
	w.net.Heal(h.name, lags.name)
	wait(w, 40*time.Second)
}

// caughtUp waits until a peer's state holds all that is committed.
func caughtUp(w *World, p *peer) {
	w.Until(10*time.Second, func() bool {
		s := w.oracle.now()
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.run != nil && p.run.State().Index >= s.Index
	})
}

// oldSetNewLease: a node has a rank in its set that it could not begin, and is cut off until the rank has
// been given up. Then it renews its lease before it receives that.
func oldSetNewLease(w *World, _ bool) {
	w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Leases.Len() == w.Nodes })
	for _, h := range w.hosts {
		h.onDisk(func(d *simdisk.Disk) { d.Fail(syscall.ENOSPC, 0, simdisk.WriteFile) })
	}
	u := newUser(w, "someone", 7)
	defer u.close()
	u.submit(w.ctx, stubborn(1, 0, short, 0))
	wait(w, 3*time.Second)
	s := w.oracle.now()
	r, _ := s.Ranks.Get(firstRank)
	for _, h := range w.hosts {
		if h.id.node == r.Node {
			w.cutHost(h, 50*time.Second, true, true)
		} else {
			h.onDisk((*simdisk.Disk).Heal)
		}
	}
	wait(w, 49*time.Second)
	for _, h := range w.hosts {
		h.onDisk((*simdisk.Disk).Heal)
	}
	wait(w, 20*time.Second)
}

// killedBeforeTheFolder: an agent is killed between its report that it has taken a rank and the rank's folder. Nothing would become
// of the rank, which is held whatever the node does.
func killedBeforeTheFolder(w *World, _ bool) {
	w.Until(10*time.Second, func() bool { s := w.oracle.now(); return s.Leases.Len() == w.Nodes })
	for _, h := range w.hosts {
		h.onDisk(func(d *simdisk.Disk) { d.Fail(syscall.ENOSPC, 0, simdisk.WriteFile) })
	}
	u := newUser(w, "someone", 7)
	defer u.close()
	job := plainJob
	job.Spec.OnLost = model.OnLostHold
	u.submit(w.ctx, &job)
	taken := w.Until(20*time.Second, func() bool {
		s := w.oracle.now()
		r, _ := s.Ranks.Get(firstRank)
		return r.Phase == model.RankTaken
	})
	if !taken {
		w.trace.Break("scenario", "no agent takes the rank")
	}
	for _, h := range w.hosts {
		h.stopAgent()
		h.onDisk((*simdisk.Disk).Heal)
	}
	for _, h := range w.hosts {
		h.restartAgent()
	}
}

// foreignBoot: an agent on a copy of a node's data folder acts for the node from another machine, whose boot
// id is another.
func foreignBoot(w *World, broken bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	renewed(w, h)
	w.cutHost(h, 15*time.Second, true, true)
	machine := "another"
	if broken {
		machine = h.id.machine // as if there were no comparison
	}
	c := w.clone(h, machine)
	wait(w, 15*time.Second)
	c.powerOff()
}

// gangLostByOneRank: a rank of a gang is lost, and the attempt is taken to be
// over, while another rank still runs.
func gangLostByOneRank(w *World, broken bool) {
	job := stubborn(2, 2, 45*time.Second, 10*time.Second)
	job.Spec.Command = behavior{Run: 80 * time.Second, IgnoreSig: true, KillLag: 2500 * time.Millisecond}.command()
	hosts := place(w, job)
	w.cutHost(hosts[0], 90*time.Second, true, true)
	lost := func(rank uint32) bool {
		s := w.oracle.now()
		r, _ := s.Ranks.Get(model.RankKey{Job: 1, N: 1, Rank: rank})
		return r.Phase == model.RankLost
	}
	if !w.Until(80*time.Second, func() bool { return lost(0) }) {
		w.trace.Break("scenario", "no rank is lost")
	}
	if broken {
		w.Until(5*time.Second, func() bool {
			giveUp(w, model.RankKey{Job: 1, N: 1, Rank: 1}, lease(w, hosts[1]))
			return lost(1)
		})
	}
	wait(w, 20*time.Second)
}

// newKeys: a submission comes by way of a follower, the leader carries it out, and its answer does not
// arrive. The follower, which hears its leader no more, sends the submission again.
func newKeys(w *World, _ bool) {
	w.Until(10*time.Second, func() bool { s := w.oracle.now(); return w.leader() != nil && s.Peers.Len() == w.Peers })
	l := w.leader()
	follower := w.peers()[0]
	if follower == l {
		follower = w.peers()[1]
	}
	u := newUser(w, "someone", 7)
	defer u.close()
	u.only = apiAddress(follower.name)
	job := plainJob
	if d := u.submit(w.ctx, &job); !d.ok() { // this opens the connection between the two
		w.trace.Break("scenario", "the first submission: %+v", d)
	}
	w.net.Cut(l.name, follower.name)
	w.later(time.Second, func() { w.net.Heal(l.name, follower.name) })
	u.submit(w.ctx, &job)
}

// lagBehind has the host's agent look at answers so long after they came.
func (h *host) lagBehind(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lag = d
}

// voteAtOnce: the only peer takes in a second one, whose machine dies some seconds later, as that of a failed installation.
// Without a vote it takes nothing with it.
func voteAtOnce(w *World, _ bool) {
	second := newPeer(w, "p2")
	w.shared.mu.Lock()
	w.shared.peers = append(w.shared.peers, second)
	w.shared.mu.Unlock()
	second.start()
	second.join()
	w.Until(20*time.Second, second.settled)
	wait(w, 5*time.Second)
	second.stop(true)
	second.change(func(f *fate) { f.gone = true })
	u := newUser(w, "someone", 7)
	defer u.close()
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
	defer cancel()
	job := plainJob
	if d := u.submit(ctx, &job); d.code != model.CodeOK.String() {
		w.trace.Break(BreachProgress, "after the loss of a machine that had just joined, a submission is answered with %q", d.code)
	}
}

// noGeneration: one peer of three goes on alone by a recovery, and the other two, which were only without power, come back. The node
// of a job reaches them alone, and would renew its lease there.
func noGeneration(w *World, _ bool) {
	h := place(w, stubborn(1, 0, short, 0))[0]
	kept, former := w.peers()[0], w.peers()[1:]
	for _, p := range w.peers() {
		p.stop(true)
	}
	recoverAlone(w, kept, former)
	kept.start()
	renewed(w, h)
	for _, p := range former {
		w.net.CutBoth(p.name, kept.name)
		for _, other := range w.hosts {
			if other != h {
				w.net.CutBoth(p.name, other.name)
			}
		}
		p.start()
	}
	w.net.CutBoth(kept.name, h.name)
	wait(w, 2*time.Minute)
}

// recoverAlone makes a peer whose process has ended the only one of its cluster, as berth cluster recover does.
func recoverAlone(w *World, kept *peer, former []*peer) {
	for _, p := range former {
		p.change(func(f *fate) { f.former = true })
	}
	if !w.Twists.NoGeneration {
		w.certificates.Raise(kept.name)
	}
	self := model.Peer{ID: model.PeerID(kept.name), RaftAddress: raftAddress(kept.name)}
	if _, err := cluster.Recover(cluster.Config{Self: self, Stores: kept.stores(), Logger: w.logger(kept.name)}); err != nil {
		w.trace.Break("scenario", "%s cannot be recovered: %v", kept.name, err)
	}
}
