package sched

import (
	"fmt"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// addNodes tries as many more nodes as a gang lacks.
func (t *trial) addNodes() {
	job := &admission.TicketOf(t.state, t.task).Job
	if job.Spec.Nodelist != "" {
		return // it goes to no other
	}
	all := wantOf(t.state, &job.Spec, t.task)
	w := all.few()
	p := newPool(t.state)
	u := Unblock{Kind: UnblockNode, Come: Come{Nodes: 1, GPUs: w.need, Model: w.model, MemoryMB: w.memory}}
	if c, err := model.ParseConstraint(job.Spec.Constraint); err == nil {
		u.Labels = c.Least().String()
	}
	if w.nodes > 1 && t.blockedBy(blocker.CodeGPUs) {
		u.Nodes = w.nodes
		for u.Nodes > 1 {
			if _, fits := p.snug(&w, w.need, int(w.nodes-u.Nodes+1), nil); !fits {
				break
			}
			u.Nodes--
		}
	}
	if w.nodes == 0 && w.need > 1 && !p.oneHolds(&w) {
		free, _ := p.suiting(&w)
		u.GPUs = max(w.need-min(free, w.need), 1)
	}
	if u.GPUs > model.MaxDevices {
		return
	}
	// What nodes will be called is not known, and between equals the first name decides:
	// they must do both as the first and as the last.
	if v, done := t.after(u.nodes("~")...); done && v.placed() {
		t.offer(u, u.nodes("!")...)
	}
}

// nodes are the registrations of nodes as an Unblock names them.
func (u *Unblock) nodes(name string) (bodies []command.Body) {
	for n := range u.Nodes {
		id := fmt.Sprintf("%s-%d", name, n)
		b := &command.Register{Node: model.NodeID(id), Machine: id, Boot: id, Lineage: id, Session: id, Labels: u.Labels}
		for i := range u.GPUs {
			b.Devices = append(b.Devices, model.Device{
				ID: model.GPUID(fmt.Sprintf("%s-%d", id, i)), Index: i, Model: u.Model, MemoryMB: u.MemoryMB,
				Health: model.HealthHealthy, Idle: true,
			})
		}
		bodies = append(bodies, b)
	}
	return bodies
}
