package simulate

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// begin is the cluster's clock at the trace's beginning.
const begin model.Time = 1_800_000_000_000_000_000

// cluster is a state that commands change.
type cluster struct {
	state state.State
	now   model.Time
}

// newCluster has empty nodes.
func newCluster(o *Options) (*cluster, error) {
	c := &cluster{now: begin}
	if err := c.must(&command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: command.Level, Running: true, Policy: o.Policy,
		Retention: model.Retention{Jobs: maxJobs, Age: 24 * time.Hour},
	}); err != nil {
		return nil, err
	}
	for n, host := range o.hosts() {
		id := host.Name
		if id == "" {
			id = fmt.Sprintf("node-%04d", n+1)
		}
		b := &command.Register{
			Node: model.NodeID(id), Machine: id, Boot: id, Lineage: id, Session: id, Hostname: id, Address: id + ":1",
			Labels: host.Labels,
		}
		for i := range host.GPUs {
			b.Devices = append(b.Devices, model.Device{
				ID: model.GPUID(fmt.Sprintf("%s-%02d", id, i)), Index: uint32(i), Model: host.Model, MemoryMB: host.MemoryMB, //nolint:gosec // few
				Health: model.HealthHealthy, Idle: true,
			})
		}
		if err := c.must(b); err != nil {
			return nil, err
		}
	}
	return c, c.must(&command.SetTuning{Tuning: o.Tuning})
}

// apply carries out commands as one entry of the log.
func (c *cluster) apply(bodies ...command.Body) ([]command.Result, error) {
	commands := make([]command.Command, len(bodies))
	for i, b := range bodies {
		var err error
		if commands[i], err = command.New("simulate", b); err != nil {
			return nil, fmt.Errorf("making a %s command: %w", b.Kind(), err)
		}
	}
	meta := state.Meta{Index: c.state.Index + 1, Term: 1, At: c.now, By: "simulate"}
	next, results, changes := state.Apply(c.state, meta, commands)
	if len(changes.Panics) > 0 {
		return nil, fmt.Errorf("commands %v panicked: %w", changes.Panics, errDefect)
	}
	c.state = next
	return results, nil
}

// must carries out commands none of which may be refused.
func (c *cluster) must(bodies ...command.Body) error {
	results, err := c.apply(bodies...)
	for _, r := range results {
		if !r.OK() {
			return fmt.Errorf("a command of %d was refused: %s: %s: %w", len(bodies), r.Code, r.Detail, errDefect)
		}
	}
	return err
}

// report speaks for the nodes of an attempt's ranks.
func (c *cluster) report(a model.AttemptKey, phase model.RankPhase, exit model.Exit) error {
	for _, r := range c.state.RanksOf(a) {
		if err := c.must(c.reportOf(r.Node, model.Progress{Rank: r.Key, Phase: phase, Address: "sim", Port: 1, Exit: exit})); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) reportOf(node model.NodeID, reports ...model.Progress) *command.Report {
	n, _ := c.state.Nodes.Get(node)
	return &command.Report{
		Node: node, Incarnation: c.state.Settings().Incarnation, Epoch: n.Epoch, Reports: reports,
	}
}

// start begins an attempt's processes.
func (c *cluster) start(a model.AttemptKey) error {
	if err := c.report(a, model.RankReady, model.Exit{}); err != nil {
		return err
	}
	return c.report(a, model.RankRunning, model.Exit{})
}

// end ends an attempt's processes and shows their GPUs clean.
func (c *cluster) end(a model.AttemptKey, exit model.Exit) error {
	ranks := c.state.RanksOf(a)
	if err := c.report(a, model.RankExited, exit); err != nil {
		return err
	}
	for _, r := range ranks {
		b := c.reportOf(r.Node)
		for _, k := range c.state.Desired(r.Node).Clean {
			b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: k.Slot, Rank: k.Rank})
		}
		if err := c.must(b); err != nil {
			return err
		}
	}
	return nil
}
