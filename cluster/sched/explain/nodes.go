package explain

import (
	"fmt"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// addNodes tries as many more nodes as a gang lacks.
func (t *trial) addNodes() {
	job := &admission.TicketOf(t.state, t.task).Job
	if job.Spec.Nodelist != "" {
		return // it goes to no other nodes
	}
	lack := place.DemandOf(t.state, t.task).Lack(t.blockedBy(blocker.CodeGPUs))
	u := Unblock{Kind: UnblockNode, Come: Come{Nodes: lack.Nodes, GPUs: lack.GPUs, Model: lack.Model, MemoryMB: lack.MemoryMB}}
	if c, err := model.ParseConstraint(job.Spec.Constraint); err == nil {
		u.Labels = c.Least().String()
	}
	if u.GPUs > model.MaxDevices {
		return
	}
	// What nodes will be called is not known, and between equal nodes the first name decides: they must suffice both
	// as the first and as the last.
	if v, done := t.after(u.nodes("~")...); done && v.Placed() {
		t.offer(u, u.nodes("!")...)
	}
}

// nodes returns the registrations of nodes as an Unblock names them.
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
