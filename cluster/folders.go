package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/model"
)

// Folder is a peer's data folder as far as the cluster's membership is concerned: its random id, and the
// stored ids of the other peers' folders. A raftstore.Store is one.
type Folder interface {
	// FolderID returns the random id that the folder got when it was made.
	FolderID() string
	// Peers returns the folder ids by peer id, as last stored by SetPeers.
	Peers() map[string]string
	// SetPeers stores the folder ids by peer id, durably.
	SetPeers(map[string]string) error
}

// folders tracks the data folders of the cluster's peers. A peer that has lost its folder has lost its votes
// and the entries that it has acknowledged; it is recognised by its new folder's id, however it comes back.
//
// An id is learnt when the cluster is founded, when a peer joins, and from the replicated state, which
// outranks the other sources. Learnt ids are stored in the folder, since a peer that has just started has no
// state yet. An id in use never gets another folder.
type folders struct {
	folder Folder
	fsm    *fsm.FSM
	raft   *raft.Raft  // set before open
	open   atomic.Bool // Raft's messages are answered

	mu    sync.Mutex
	known map[string]string // by peer id, as the folder keeps them

	note   sync.Mutex
	warned map[string]bool // refusals that have been logged
}

func newFolders(f Folder, state *fsm.FSM) *folders {
	return &folders{folder: f, fsm: state, known: maps.Clone(f.Peers()), warned: map[string]bool{}}
}

// Own returns the id of this peer's folder.
func (f *folders) Own() string { return f.folder.FolderID() }

// Of returns the folder id of a peer; empty if unknown.
func (f *folders) Of(id raft.ServerID) string {
	s := f.fsm.State()
	if row, found := s.Peers.Get(model.PeerID(id)); found && row.Folder != "" {
		return row.Folder
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[string(id)]
}

var (
	errNotEntered = errors.New("this peer has not entered a cluster yet")
	errOtherHere  = errors.New("the sender knows this peer with another data folder: " + peer.NewIDRemedy)
)

// Admit refuses Raft's messages until this peer has entered a cluster, those of peers that are no members, those that
// name the address of another member, and those whose sender or receiver folder differs from the one that the cluster
// knows. A vote counts for the address that its candidate names, so a member that named another's would vote twice.
func (f *folders) Admit(m raftnet.Sender) error {
	if !f.open.Load() {
		return errNotEntered
	}
	if m.Expected != "" && m.Expected != f.Own() {
		return errOtherHere
	}
	for _, s := range f.raft.GetConfiguration().Configuration().Servers {
		if s.Address == m.Address && s.ID != m.ID {
			return fmt.Errorf("peer %s names the address %s, which is that of peer %s: check the listener of each", m.ID, m.Address, s.ID)
		}
	}
	known := f.Of(m.ID)
	switch {
	case known == "" && !f.member(m.ID):
		return fmt.Errorf("peer %s is %w", m.ID, errStranger)
	case known != "" && known != m.Folder:
		return fmt.Errorf("peer %s is known with data folder %s and comes with %s: %s", m.ID, known, m.Folder, peer.NewIDRemedy)
	}
	return nil
}

var errStranger = errors.New("no member of the cluster as far as this peer knows: a certificate alone makes no member; start that peer with --join (server.join)")

// member reports whether this peer knows another one as a member of the cluster: by its data folder, or in Raft's configuration.
func (f *folders) member(id raft.ServerID) bool {
	if f.Of(id) != "" {
		return true
	}
	return f.open.Load() && slices.ContainsFunc(f.raft.GetConfiguration().Configuration().Servers, func(s raft.Server) bool { return s.ID == id })
}

// entered reports whether this folder has taken part in a cluster, or was admitted to one.
func (f *folders) entered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.known) > 0
}

// all returns the folder ids of the cluster's peers, by peer id.
func (f *folders) all() map[string]string {
	f.mu.Lock()
	out := maps.Clone(f.known)
	f.mu.Unlock()
	if out == nil {
		out = map[string]string{}
	}
	for id, row := range f.fsm.State().Peers.All() {
		if row.Folder != "" {
			out[string(id)] = row.Folder
		}
	}
	return out
}

// learn adds folder ids to the known ones; the state's outrank them.
func (f *folders) learn(more map[string]string) error {
	next := f.all()
	for id, folder := range more {
		if f.Of(raft.ServerID(id)) == "" {
			next[id] = folder
		}
	}
	f.mu.Lock()
	same := maps.Equal(next, f.known)
	f.mu.Unlock()
	if same {
		return nil
	}
	if err := f.folder.SetPeers(next); err != nil {
		return fmt.Errorf("keeping the folder ids of the cluster's peers: %w", err)
	}
	f.mu.Lock()
	f.known = next
	f.mu.Unlock()
	return nil
}

// once reports whether a message is logged for the first time.
func (f *folders) once(what string) bool {
	f.note.Lock()
	defer f.note.Unlock()
	first := !f.warned[what]
	f.warned[what] = true
	return first
}

// keepFolders stores the folder ids of the state's peers in this peer's own folder.
func (p *Peer) keepFolders(ctx context.Context) {
	for {
		s := p.State()
		changed := p.Changed(model.TopicSet(0).With(model.TopicSettings), s.Index)
		if p.folders.entered() {
			if err := p.folders.learn(nil); err != nil && ctx.Err() == nil {
				p.log.Error("cannot store the peers' folder ids, retrying", "err", err)
				changed = nil
			}
		}
		var retry <-chan time.Time
		if changed == nil {
			retry = time.After(time.Second)
		}
		select {
		case <-changed:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}
