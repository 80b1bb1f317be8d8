package node

import (
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/runner"
)

// gpuOwner maps processes on GPUs to their owners, by the last state that the agent's goroutine has noted.
type gpuOwner struct {
	noted atomic.Pointer[gpuRanks]
	next  time.Time // when to note again
}

var _ gpu.Owner = (*gpuOwner)(nil)

// gpuRanks are the ranks of a node as far as GPUs are concerned.
type gpuRanks struct {
	supervisors map[int]bool
	nonces      map[string]bool
	holders     map[model.GPUID]string
	lent        map[model.GPUID]bool // to services
	told        bool                 // the services' GPUs are known
}

// note stores the current ranks, a few times a second.
func (o *gpuOwner) note(b *units, set *model.Desired) {
	if !due(o.next) {
		return
	}
	o.next = later(againSoon)
	r := &gpuRanks{
		supervisors: map[int]bool{}, nonces: map[string]bool{}, holders: map[model.GPUID]string{}, lent: map[model.GPUID]bool{}, told: set != nil,
	}
	if set != nil {
		for _, id := range set.Lent {
			r.lent[id] = true
		}
	}
	for _, u := range b.byName {
		r.nonces[u.record.Nonce] = true
		if u.life.alive && u.status.PID > 0 {
			r.supervisors[u.status.PID] = true
		}
		for _, g := range u.record.GPUs {
			if !u.phase.Ended() {
				r.holders[g.ID] = u.record.Nonce
			}
		}
	}
	o.noted.Store(r)
}

// Mine reports whether a process belongs to Berth: a descendant of a rank's supervisor, a process with the
// nonce of a rank, or any process on a GPU of a service. Before the services' GPUs are known, any process may
// be a service's.
func (o *gpuOwner) Mine(pid int, on model.GPUID) bool {
	r := o.noted.Load()
	if !r.told || r.lent[on] {
		return true
	}
	if proc.Below(pid, func(pid int) bool { return r.supervisors[pid] }) {
		return true
	}
	env, _ := proc.Environ(pid) // a process in the middle of an exec holds no GPU
	nonce := proc.Variable(env, runner.NonceVariable)
	return nonce != "" && r.nonces[nonce]
}

// Holder returns the nonce of the rank that was given the GPU and has not ended.
func (o *gpuOwner) Holder(id model.GPUID) string { return o.noted.Load().holders[id] }
