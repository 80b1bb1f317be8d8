package simulate

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/virtual"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// begin is the cluster's clock at the trace's beginning.
const begin model.Time = 1_800_000_000_000_000_000

// newCluster returns a cluster with empty nodes.
func newCluster(o *Options) (*virtual.World, error) {
	c := &virtual.World{Now: begin, By: "simulate"}
	if err := c.Must(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: command.Level, Running: true, Policy: o.Policy,
		Retention: model.Retention{Jobs: maxJobs, Age: 24 * time.Hour},
	}); err != nil {
		return nil, err
	}
	for n, host := range o.hosts() {
		id := host.id(n)
		b := &command.Register{
			Node: model.NodeID(id), Machine: id, Boot: id, Lineage: id, Session: id, Hostname: id,
			Labels: host.Labels,
		}
		for i := range host.GPUs {
			b.Devices = append(b.Devices, model.Device{
				ID: model.GPUID(fmt.Sprintf("%s-%02d", id, i)), Index: uint32(i), Model: host.Model, MemoryMB: host.MemoryMB,
				Health: model.HealthHealthy, Idle: true,
			})
		}
		if err := c.Must(b); err != nil {
			return nil, err
		}
	}
	return c, c.Must(&command.SetTuning{Tuning: o.Tuning})
}
