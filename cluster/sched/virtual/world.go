// Package virtual moves a state on in virtual time: it carries out commands as the peers of a cluster would, and
// makes the reports that agents would send about invented processes. The simulator replays traces with it, and
// forecasts compute the future with it.
//
//berth:pure
package virtual

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
)

// ErrDefect marks an error that meaningful virtual commands never cause.
var ErrDefect = errors.New("this is a defect of Berth")

// World is a state at a time. A copy is independent of the original.
type World struct {
	State state.State
	Now   model.Time // the state's clock follows it by 5 min at most, or by [command.AdvanceClock]
	By    string     // the actor of its changes
}

// Apply carries out commands as one entry of the log.
func (w *World) Apply(bodies ...command.Body) ([]command.Result, error) {
	commands := make([]command.Command, len(bodies))
	for i, b := range bodies {
		var err error
		if commands[i], err = command.New(w.By, b); err != nil {
			return nil, fmt.Errorf("making a %s command: %w", b.Kind(), err)
		}
	}
	meta := state.Meta{Index: w.State.Index + 1, Term: max(w.State.Term, 1), At: w.Now, By: w.By}
	next, results, changes := apply.Apply(w.State, meta, commands)
	if len(changes.Panics) > 0 {
		return nil, fmt.Errorf("commands %v panicked: %w", changes.Panics, ErrDefect)
	}
	w.State = next
	return results, nil
}

// Must carries out commands, none of which may be refused.
func (w *World) Must(bodies ...command.Body) error {
	results, err := w.Apply(bodies...)
	for _, r := range results {
		if !r.OK() {
			return fmt.Errorf("a command of %d was refused: %s: %s: %w", len(bodies), r.Code, r.Detail, ErrDefect)
		}
	}
	return err
}

// Report returns what the agent of a node would report.
func Report(s *state.State, node model.NodeID, reports ...model.Progress) *command.Report {
	n, _ := s.Nodes.Get(node)
	return &command.Report{Node: node, Incarnation: s.Settings().Incarnation, Epoch: n.Epoch, Reports: reports}
}

// Start reports that an attempt's processes run.
func (w *World) Start(a model.AttemptKey) error {
	var bodies []command.Body
	for _, r := range w.State.RanksOf(a) {
		bodies = append(bodies, Report(&w.State, r.Node, model.Progress{Rank: r.Key, Phase: model.RankRunning, Address: "10.0.0.1", Port: 1}))
	}
	return w.Must(bodies...)
}

// End reports that an attempt's processes have exited, and shows their GPUs clean.
func (w *World) End(a model.AttemptKey, exit model.Exit) error {
	return w.Must(Ends(&w.State, a, exit)...)
}

// Ends returns what the nodes of an attempt would report of its end, in order.
func Ends(s *state.State, a model.AttemptKey, exit model.Exit) (bodies []command.Body) {
	for _, r := range s.RanksOf(a) {
		b := Report(s, r.Node)
		if !r.Phase.Ended() {
			b.Reports = []model.Progress{{Rank: r.Key, Phase: model.RankExited, Exit: exit}}
		}
		for _, slot := range s.SlotsOf(r.Key) {
			b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: slot, Rank: r.Key})
		}
		bodies = append(bodies, b)
	}
	return bodies
}

// Releases returns a service's release, and what its node would report of it.
func Releases(s *state.State, id model.AllocationID) []command.Body {
	var b *command.Report
	for k := range s.Owners.From(state.OwnerKey{Allocation: id}) {
		if k.Allocation != id || k.Rank != (model.RankKey{}) {
			break
		}
		if b == nil {
			slot, _ := s.Slots.Get(k.Slot)
			b = Report(s, slot.Node)
		}
		b.Cleaned = append(b.Cleaned, model.Cleaned{Slot: k.Slot, Allocation: id})
	}
	if b == nil {
		return nil
	}
	return []command.Body{&command.ReleaseAllocation{ID: id}, b}
}
