package statetest

import (
	"crypto/sha256"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Spec returns the spec of an ordinary job: user alice, normal class, requeued when lost.
func Spec(gpus uint32) model.Spec {
	return model.Spec{
		Name: "train", User: "alice", Class: model.ClassNormal, Command: "true", GPUs: gpus, Preemptible: true,
		OnLost: model.OnLostRequeue, DisconnectGrace: model.DefaultDisconnectGrace, Grace: 30 * time.Second,
	}
}

// Job returns the submission of an ordinary job, as changed.
func Job(gpus uint32, changes ...func(*command.Submit)) *command.Submit {
	b := &command.Submit{Spec: Spec(gpus), Tasks: 1}
	for _, change := range changes {
		change(b)
	}
	return b
}

// Submit queues an ordinary job, as changed.
func (c *Cluster) Submit(gpus uint32, changes ...func(*command.Submit)) model.JobID {
	c.tb.Helper()
	return c.Do(Job(gpus, changes...)).Job
}

// Place gives task 0 of a job its GPUs by first fit.
func (c *Cluster) Place(job model.JobID) model.AttemptKey {
	c.tb.Helper()
	return c.PlaceTask(model.TaskKey{Job: job})
}

// PlaceTask gives a task its GPUs by first fit.
func (c *Cluster) PlaceTask(key model.TaskKey) model.AttemptKey {
	c.tb.Helper()
	b := c.Placement(key)
	if b == nil {
		c.tb.Fatalf("task %s fits nowhere", key)
		return model.AttemptKey{}
	}
	c.Do(b)
	return b.Attempt
}

// Placement returns a placement of a task's next attempt by first fit, in order of node ids: on one node if
// one has enough room, otherwise over several. It is nil if the task does not exist or fits nowhere.
func (c *Cluster) Placement(key model.TaskKey) *command.Place {
	task, found := c.State.Tasks.Get(key)
	job, _ := c.State.Jobs.Get(key.Job)
	if !found {
		return nil
	}
	b := &command.Place{Attempt: key.Attempt(task.Attempts + 1), Decided: c.State.Index}
	spec := &job.Spec
	if spec.WithoutGPUs() {
		if b.Ranks = c.onCores(spec); b.Ranks == nil {
			return nil
		}
		return b
	}
	if spec.Nodes > 0 {
		b.Ranks = spread(c, key, spec, spec.Nodes, spec.GPUs/spec.Nodes)
	} else if b.Ranks = spread(c, key, spec, 1, spec.GPUs); b.Ranks == nil {
		b.Ranks = fill(c, key, spec)
	}
	if b.Ranks == nil {
		b.Ranks = fewer(c, key, spec)
	}
	if b.Ranks == nil {
		return nil
	}
	if len(b.Ranks) > 1 {
		b.Secret = sha256.Sum256([]byte(b.Attempt.String()))
	}
	return b
}

// onCores takes room for a job without GPUs on the first nodes that have it.
func (c *Cluster) onCores(spec *model.Spec) (out []command.Placement) {
	nodes := int(max(spec.Nodes, 1))
	for id, n := range c.State.Nodes.All() {
		room, held := c.State.CPURoom(&n)
		if len(out) < nodes && n.Schedulable() && n.Admits(spec.User) && spec.Where().Sites().Has(&n) && spec.Holds().Within(held, room) {
			out = append(out, command.Placement{Node: id, Epoch: n.Epoch})
		}
	}
	if len(out) < nodes {
		return nil
	}
	return out
}

// fewer returns the largest placement that a job accepts if it cannot have all its GPUs.
func fewer(c *Cluster, key model.TaskKey, spec *model.Spec) (out []command.Placement) {
	for gpus := spec.GPUs - 1; gpus >= spec.Least() && out == nil; gpus-- {
		switch each := spec.GPUs / max(spec.Nodes, 1); {
		case spec.Nodes > 1 && gpus%each == 0:
			out = spread(c, key, spec, gpus/each, each)
		case spec.Nodes <= 1:
			out = spread(c, key, spec, 1, gpus)
		}
	}
	return out
}

// spread takes each GPUs from the first nodes that have as many.
func spread(c *Cluster, who model.TaskKey, spec *model.Spec, nodes, each uint32) (out []command.Placement) {
	for id, n := range c.State.Nodes.All() {
		if free := c.free(&n, who, spec); len(free) >= int(each) && uint32(len(out)) < nodes {
			out = append(out, command.Placement{Node: id, Epoch: n.Epoch, Slots: free[:each]})
		}
	}
	if uint32(len(out)) < nodes {
		return nil
	}
	return out
}

// fill takes free GPUs, node after node.
func fill(c *Cluster, who model.TaskKey, spec *model.Spec) (out []command.Placement) {
	left := int(spec.GPUs)
	for id, n := range c.State.Nodes.All() {
		free := c.free(&n, who, spec)
		if take := min(left, len(free)); take > 0 {
			out = append(out, command.Placement{Node: id, Epoch: n.Epoch, Slots: free[:take]})
			left -= take
		}
	}
	if left > 0 {
		return nil
	}
	return out
}

// free returns the slots of a node that a task may have.
func (c *Cluster) free(n *model.Node, who model.TaskKey, spec *model.Spec) (out []model.SlotKey) {
	if !n.Schedulable() || !who.IsTurn() && !n.Admits(spec.User) || !spec.Where().Sites().Has(n) {
		return nil
	}
	for k := range c.State.NodeGPUs.From(model.AddressKey{Node: n.ID}) {
		if k.Node != n.ID {
			break
		}
		key := model.SlotKey{GPU: k.GPU}
		slot, _ := c.State.Slots.Get(key)
		gpu, _ := c.State.GPUs.Get(k.GPU)
		claim, claimed := c.State.Claims.Get(key)
		fits := model.OfModel(spec.GPUModel, gpu.Model) && spec.GPUMemoryMB <= gpu.MemoryMB
		if slot.Owner == model.OwnerNone && gpu.Usable() && (!claimed || claim.Beneficiary == who) && fits {
			out = append(out, key)
		}
	}
	return out
}

// Start reports every rank of an attempt taken, ready and running.
func (c *Cluster) Start(a model.AttemptKey) {
	c.tb.Helper()
	for _, phase := range []model.RankPhase{model.RankTaken, model.RankReady, model.RankRunning} {
		c.each(a, model.Progress{Phase: phase, Address: "10.0.0.1", Port: 4000})
	}
}

// Exit reports that every rank of an attempt ended by itself.
func (c *Cluster) Exit(a model.AttemptKey, code int32) {
	c.tb.Helper()
	c.each(a, model.Progress{Phase: model.RankExited, Exit: model.Exit{Code: code, Ran: time.Minute}})
}

// Stopped reports that every rank of an attempt ended after the signal of its stop.
func (c *Cluster) Stopped(a model.AttemptKey) {
	c.tb.Helper()
	row, _ := c.State.Attempts.Get(a)
	c.each(a, model.Progress{Phase: model.RankExited, Exit: model.Exit{Signal: 15, Delivered: row.Stop, Ran: time.Minute}})
}

// each reports the same progress of every rank of an attempt that has not ended.
func (c *Cluster) each(a model.AttemptKey, p model.Progress) {
	c.tb.Helper()
	for _, r := range c.State.RanksOf(a) {
		if !r.Phase.Ended() {
			p.Rank = r.Key
			c.Report(p)
		}
	}
}

// Report applies a report of the present agent of the rank's node, and returns the verdict.
func (c *Cluster) Report(p model.Progress) model.Code {
	c.tb.Helper()
	r, _ := c.State.Ranks.Get(p.Rank)
	n, found := c.State.Nodes.Get(r.Node)
	if !found {
		c.tb.Fatalf("no node runs rank %s", p.Rank)
	}
	return c.Do(&command.Report{
		Node: n.ID, Incarnation: c.State.Settings().Incarnation, Epoch: n.Epoch, Reports: []model.Progress{p},
	}).Verdicts[0]
}
