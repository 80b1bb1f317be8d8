package node

import (
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/internal/proc"
	"github.com/berth-gpu/berth/node/runner"
)

// gpuOwner tells whose the processes on GPUs are, by what the agent's goroutine has
// noted last.
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
	told        bool                 // the cluster has said which those are
}

// note writes down which ranks there are, a few times a second.
func (o *gpuOwner) note(b *book, set *model.Desired) {
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
	for _, u := range b.units {
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

// Mine says that a process descends from a rank's supervisor, or was started by one
// that is no more, or that a service has the GPU. Before the cluster has said what
// services have, any process may be a service's.
func (o *gpuOwner) Mine(pid int, on model.GPUID) bool {
	r := o.noted.Load()
	if !r.told || r.lent[on] {
		return true
	}
	if proc.Below(pid, func(pid int) bool { return r.supervisors[pid] }) {
		return true
	}
	env, _ := proc.Environ(pid) // in the middle of an exec it holds no GPU
	nonce := proc.Variable(env, runner.NonceVariable)
	return nonce != "" && r.nonces[nonce]
}

// Holder is the nonce of the rank that was given the GPU and has not ended.
func (o *gpuOwner) Holder(id model.GPUID) string { return o.noted.Load().holders[id] }
