package sim

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster"
	clusterpeer "github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// shuffled is a log whose reader sees the commands of an entry in the order of a
// map: what a peer applies that ranges over a map where order matters.
type shuffled struct {
	raft.LogStore
	on *atomic.Bool
}

func (s shuffled) GetLog(index uint64, l *raft.Log) error {
	if err := s.LogStore.GetLog(index, l); err != nil || !s.on.Load() || l.Type != raft.LogCommand {
		return err
	}
	e, err := command.Decode(l.Data)
	if err != nil || len(e.Commands) < 2 {
		return nil //nolint:nilerr // not an entry that has an order
	}
	byName := map[int]command.Command{}
	for i, c := range e.Commands {
		byName[i] = c
	}
	e.Commands = nil
	for _, c := range byName {
		e.Commands = append(e.Commands, c)
	}
	data, err := command.Encode(e.At, e.By, e.Commands)
	if err != nil {
		return err
	}
	l.Data = data
	return nil
}

// A peer that applies in the order of a map is noticed by its digest, and leaves;
// a peer that does not, stays.
func TestMutantMapOrder(t *testing.T) {
	scripted(t)
	for _, broken := range []bool{false, true} {
		on := map[string]*atomic.Bool{"p1": {}, "p2": {}, "p3": {}}
		s := Setup{
			Seed: 1, Peers: 3, Nodes: 2, GPUs: 1, Quarantine: true, Tuning: leisurely(),
			Stores: func(machine string, s cluster.Stores) cluster.Stores {
				if b := on[machine]; b != nil {
					s.Log = shuffled{s.Log, b}
				}
				return s
			},
		}
		var victim *peer
		r := run(t, s, func(w *World) {
			w.Until(progressWithin, func() bool { s := w.oracle.now(); return w.leader() != nil && s.Leases.Len() == 2 })
			for _, p := range w.peers() {
				if p != w.leader() {
					victim = p
				}
			}
			on[victim.name].Store(broken)
			fill(w, 1100)
			w.Until(progressWithin, func() bool { return reason(victim) != nil })
			if broken {
				w.retire(victim)
				w.newcomer()
			}
		})
		describeFailure(t, s.Seed, r)
		if _, left := errors.AsType[*clusterpeer.QuarantineError](reason(victim)); left != broken {
			t.Errorf("with the order of a map: %t; the peer left because its digest differs: %t (%v)", broken, left, reason(victim))
		}
	}
}

func reason(p *peer) error {
	return p.change(func(*fate) {}).halt
}

// fill puts entries into the log of which each sets a job's priority four times: the
// last of them stays.
func fill(w *World, entries int) {
	job := plainJob
	job.Spec.Held = true
	made := propose(w, &job)
	for range entries {
		var four []command.Body
		for class := range model.Class(4) {
			four = append(four, &command.SetPriority{Job: made[0].Job, Class: 1 + class})
		}
		propose(w, four...)
	}
	propose(w, &command.Cancel{Job: made[0].Job, Task: model.AllTasks})
}

// propose puts one entry into the log.
func propose(w *World, bodies ...command.Body) []command.Result {
	failed := make([]command.Result, len(bodies))
	l := w.leader()
	if l == nil {
		w.trace.Break("scenario", "no leader")
		return failed
	}
	var all []command.Command
	for _, b := range bodies {
		c, err := command.New("user:filler", b)
		if err != nil {
			w.trace.Break("scenario", "%v", err)
			return failed
		}
		all = append(all, c)
	}
	results, _, err := l.running().Propose(w.ctx, all...)
	if err != nil {
		w.trace.Break("scenario", "%v", err)
		return failed
	}
	return results
}
