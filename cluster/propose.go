package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// enqueueTimeout bounds the wait for raft's main goroutine to take an entry.
const enqueueTimeout = 2 * time.Second

// Propose lets the leader carry out commands, in one log entry and in order, and returns their results and
// the entry's index. The commands must be of one lane.
//
// A *NotLeaderError, ErrNoLeader, ErrOverloaded, ErrNoSpace, ErrDiverged and ErrClosed mean that nothing was
// proposed. ErrOutcomeUnknown means that the entry may have been committed: try again with the same request
// id. The context's end also leaves the outcome unknown.
func (p *Peer) Propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	if len(commands) == 0 {
		return nil, p.State().Index, nil
	}
	b := &bundle{commands: commands, done: make(chan answer, 1)}
	lane := commands[0].Kind().Lane()
	for i := range commands {
		if commands[i].Kind().Lane() != lane {
			return nil, 0, fmt.Errorf("commands of two lanes (%s, %s) cannot share an entry", commands[0].Kind(), commands[i].Kind())
		}
		b.size += commands[i].Size()
	}
	if b.size > command.MaxEntry || len(commands) > command.MaxCommands {
		return nil, 0, command.ErrTooLarge
	}
	if err := p.mayPropose(lane); err != nil {
		return nil, 0, err
	}
	if err := p.lanes.add(lane, b); err != nil {
		return nil, 0, err
	}
	select {
	case a := <-b.done:
		p.Saw(a.index)
		return a.results, a.index, a.err
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// mayPropose refuses early what would be refused anyway.
func (p *Peer) mayPropose(lane command.Lane) error {
	switch {
	case p.fsm.Halted():
		return peer.ErrClosed
	case p.raft.State() != raft.Leader:
		return notLeader(p)
	case lane == command.LaneControl:
		return nil
	case p.Apart() != "":
		return peer.ErrNoLeader
	case p.mates.low():
		return peer.ErrNoSpace
	case p.mates.split():
		return peer.ErrDiverged
	}
	return nil
}

func notLeader(p *Peer) error {
	address, id := p.raft.LeaderWithID()
	if id == "" || id == raft.ServerID(p.cfg.Self.ID) {
		return peer.ErrNoLeader
	}
	return &peer.NotLeaderError{Leader: model.PeerID(id), Address: string(address)}
}

// submitEntry passes one entry to raft.
func (p *Peer) submitEntry(bundles []*bundle) (raft.ApplyFuture, error) {
	n := 0
	for _, b := range bundles {
		n += len(b.commands)
	}
	commands := make([]command.Command, 0, n)
	for _, b := range bundles {
		commands = append(commands, b.commands...)
	}
	data, err := command.Encode(model.TimeOf(p.cfg.Clock.Wall()), string(p.cfg.Self.ID), commands)
	if err != nil {
		return nil, err
	}
	return p.raft.Apply(data, enqueueTimeout), nil
}

// entryLanded notes whether raft refuses everything because of a transfer.
func (p *Peer) entryLanded(err error) {
	p.mates.setRefusing(errors.Is(err, raft.ErrLeadershipTransferInProgress))
}

// outcome waits for an entry and translates raft's errors.
func outcome(future raft.ApplyFuture) (uint64, []command.Result, error) {
	if err := future.Error(); err != nil {
		return 0, nil, translate(err)
	}
	out, applied := future.Response().(fsm.Outcome)
	if !applied {
		return 0, nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, fsm.ErrHalted)
	}
	return out.Index, out.Results, nil
}

// translate translates raft's error by whether something was proposed. A raft that shuts down gives the same
// error for entries that it has not taken and for those that it has committed.
func translate(err error) error {
	switch {
	case err == nil, errors.Is(err, errNoMember):
		return err
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", peer.ErrNoLeader, err)
	}
	return fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, err)
}

// Saw notes that this peer has answered, or forwarded and seen answered, with a state of that index: reads of
// default consistency are at least as new from now on.
func (p *Peer) Saw(index uint64) {
	for {
		old := p.seen.Load()
		if index <= old || p.seen.CompareAndSwap(old, index) {
			return
		}
	}
}
