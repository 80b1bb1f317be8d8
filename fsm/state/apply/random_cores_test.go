package apply

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// drawCores makes one job of six one without GPUs.
func drawCores(g *gen, b *command.Submit) {
	if g.roll(6) > 0 {
		return
	}
	s := &b.Spec
	s.GPUs, s.MinGPUs, s.GPUModel, s.GPUMemoryMB, s.IdleStop, s.Preemptible = 0, 0, "", 0, 0, false
	s.CPUs, s.MemoryMB, s.Nodes = uint32(1+g.roll(12)), uint32(1000*(1+g.roll(40))), uint32(g.roll(3))
}

// drawPlaceOnCores places a job without GPUs on nodes in turn, whether or not they have room.
func drawPlaceOnCores(g *gen) command.Body {
	var waiting []model.TaskKey
	for k := range g.s.CPUQueue.All() {
		if waiting = append(waiting, k.Task); len(waiting) == 10 {
			break
		}
	}
	key := model.TaskKey{Job: anyJob(g)}
	if len(waiting) > 0 {
		key = pick(g, waiting...)
	}
	task, _ := g.s.Tasks.Get(key)
	job, _ := g.s.Jobs.Get(key.Job)
	b := &command.Place{Attempt: key.Attempt(task.Attempts + 1), Decided: g.s.Index}
	start := 1 + g.roll(6)
	for i := range int(max(job.Spec.Nodes, 1)) {
		id := model.NodeID(fmt.Sprintf("n%d", 1+(start+i)%6))
		b.Ranks = append(b.Ranks, command.Placement{Node: id, Epoch: epochOf(g, id)})
	}
	if g.roll(20) == 0 {
		b.Ranks = b.Ranks[:1]
	}
	return b
}
