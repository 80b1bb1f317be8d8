package cluster

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// ProgramRecord keeps a peer's record of its program in its data folder. A raftstore.Store is one.
type ProgramRecord interface {
	Program() (record upgrade.Record, found bool)
	SetProgram(upgrade.Record) error
}

// program is this peer's program.
type program struct {
	*upgrade.Tracker

	self  model.PeerID
	store ProgramRecord // nil: the record is kept in memory only
}

func newProgram(self model.Peer, store ProgramRecord, hold time.Duration, began time.Time) *program {
	var kept upgrade.Record
	if store != nil {
		kept, _ = store.Program()
	}
	return &program{upgrade.NewTracker(self.Level, hold, model.TimeOf(began), kept), self.ID, store}
}

// seeing returns a hook of the FSM that notes what the state has of this peer, and calls another one, which may be nil.
func (m *program) seeing(then func(state.State, state.Changes)) func(state.State, state.Changes) {
	return func(before state.State, changes state.Changes) {
		if row, found := before.Peers.Get(m.self); found {
			m.See(row.Level, before.Settings().Clock)
		}
		if then != nil {
			then(before, changes)
		}
	}
}

// keep stores the record, each second if it has changed, until the context ends. caughtUp returns a state that has caught up; false:
// this peer has none.
func (m *program) keep(ctx context.Context, log *slog.Logger, caughtUp func() (state.State, bool)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	failed := false
	for {
		if s, ok := caughtUp(); ok && !s.Settings().Incarnation.IsZero() {
			err := m.keepAt(&s)
			if err != nil && !failed {
				log.Error("program_record_not_written", "err", err, "remedy", "make room on the disk of the data folder: the record is written again")
			}
			failed = err != nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *program) keepAt(s *state.State) error {
	row, _ := s.Peers.Get(m.self)
	next, settled := m.Next(s.Settings().Level, row.Level, s.Settings().Clock)
	if next != m.Kept() && m.store != nil {
		if err := m.store.SetProgram(next); err != nil {
			return err
		}
	}
	m.Keep(next, settled)
	return nil
}

// programs returns what is known of all peers' programs: by the reports of the last seconds, and of peers that are silent by the
// state. self is what this peer knows of itself.
func (m *mates) programs(s *state.State, st *peer.Status, self upgrade.Peer, now time.Duration) []upgrade.Peer {
	newest := s.Index
	known := map[model.PeerID]heard{}
	for _, v := range m.of(st.Servers, now) {
		known[v.hello.Peer.ID] = v
		newest = max(newest, v.hello.Applied)
	}
	out := make([]upgrade.Peer, 0, len(st.Servers))
	for _, server := range st.Servers {
		row, _ := s.Peers.Get(server.ID)
		one := upgrade.Peer{ID: server.ID, Level: row.Level, Version: row.Version}
		switch v, fresh := known[server.ID]; {
		case server.ID == self.ID:
			one = self
		case fresh && slices.Contains(st.Up, server.ID):
			one.Heard, one.Ago, one.CaughtUp = true, now-v.at, v.hello.Applied+peer.CloseEnough >= newest
			one.Level, one.Version = v.hello.Peer.Level, v.hello.Peer.Version
			v.hello.Program.Show(&one)
		}
		one.Leads, one.Votes = server.ID == st.Leader.ID, slices.Contains(st.Silence.Voters, server.ID)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b upgrade.Peer) int { return a.ID.Compare(b.ID) })
	return out
}

const (
	// firstLevel is the first feature level that a cluster could be founded at.
	firstLevel = 1
	// founderPatience is how long the first leader of a cluster waits for the level of each founder. All of them have
	// answered a moment before.
	founderPatience = 5 * time.Second
)

// foundingLevel returns the newest level that the programs of all founders know. A founder that stays silent counts with the first.
func (m *mates) foundingLevel(ctx context.Context, self model.Peer, founders func() []peer.Server) uint32 {
	ctx, cancel := context.WithTimeout(ctx, founderPatience)
	defer cancel()
	for {
		level, missing := self.Level, false
		for _, s := range founders() {
			if s.ID == self.ID {
				continue
			}
			known, found := m.levelOf(s.ID)
			if missing = missing || !found; found {
				level = min(level, known)
			}
		}
		if !missing {
			return level
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return min(level, firstLevel)
		}
	}
}
