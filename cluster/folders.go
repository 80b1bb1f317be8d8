package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

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
	self   model.PeerID
	folder Folder
	fsm    *fsm.FSM
	raft   *raft.Raft  // set before open
	open   atomic.Bool // Raft's messages are answered

	mu    sync.Mutex
	known map[string]string // by peer id, as the folder keeps them

	note      sync.Mutex
	warned    map[string]bool // refusals that have been logged
	strangers []string        // the first peers that were refused since they are not known
}

func newFolders(self model.PeerID, f Folder, state *fsm.FSM) *folders {
	return &folders{self: self, folder: f, fsm: state, known: maps.Clone(f.Peers()), warned: map[string]bool{}}
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

// Admit refuses Raft's messages until this peer has entered a cluster, those of peers that are no members, and those whose sender or
// receiver folder differs from the one that the cluster knows. Those of a member without a vote are refused where they would cost a leader
// that this peer hears its leadership: see outside.
func (f *folders) Admit(m raftnet.Sender) (raftnet.Verdict, error) {
	if !f.open.Load() {
		return raftnet.Verdict{}, errNotEntered
	}
	if m.Expected != "" && m.Expected != f.Own() {
		return raftnet.Verdict{}, errOtherHere
	}
	known := f.Of(m.ID)
	switch {
	case known == "" && !f.member(m.ID):
		return raftnet.Verdict{}, f.stranger(m.ID)
	case known != "" && known != m.Folder:
		return raftnet.Verdict{}, fmt.Errorf("peer %s is known with data folder %s and comes with %s: %s", m.ID, known, m.Folder, peer.NewIDRemedy)
	}
	servers := f.raft.GetConfiguration().Configuration().Servers
	_, leader := f.raft.LeaderWithID()
	v := raftnet.Verdict{Outside: !hasVote(servers, m.ID), Leads: leader == m.ID}
	if v.Outside {
		return v, outside(servers, m, leader)
	}
	return v, nil
}

// outside returns why a message of a member that has no vote in this peer's configuration must not reach Raft, which would take it as that
// of any voter: the member could end each leadership, or lead itself. The configuration may be behind that of the sender, such as after an
// absence. So the member is heard where this peer hears no leader with a vote; an honest leader without one comes after the other has gone.
func outside(servers []raft.Server, m raftnet.Sender, leader raft.ServerID) error {
	switch {
	case m.Says == raftnet.SaysStand: // its sender has sent all entries before, with that of its vote
	case leader == m.ID:
		return nil
	case hasVote(servers, leader), leader != "" && m.Says == raftnet.SaysPreVote:
	default:
		return nil
	}
	return fmt.Errorf("peer %s has no vote as far as this peer knows, and this peer hears the leader %q: "+
		"if %s has just got a vote, this passes by itself", m.ID, leader, m.ID)
}

// hasVote reports whether a configuration gives a peer a vote.
func hasVote(servers []raft.Server, id raft.ServerID) bool {
	return slices.ContainsFunc(servers, func(s raft.Server) bool { return s.ID == id && s.Suffrage == raft.Voter })
}

// maxStrangers bounds the peers that are named as not known.
const maxStrangers = 8

// unknown returns peers that were refused since they are not known, and are not known now.
func (f *folders) unknown() []string {
	f.note.Lock()
	all := slices.Clone(f.strangers)
	f.note.Unlock()
	return slices.DeleteFunc(all, func(id string) bool { return f.member(raft.ServerID(id)) })
}

// stranger says that a peer is no member of the cluster as far as this peer knows, and what helps.
func (f *folders) stranger(id raft.ServerID) error {
	f.note.Lock()
	if len(f.strangers) < maxStrangers && !slices.Contains(f.strangers, string(id)) {
		f.strangers = append(f.strangers, string(id))
	}
	f.note.Unlock()
	return fmt.Errorf("peer %s is no member of the cluster as far as peer %s knows, and a certificate alone makes no member: "+
		"start peer %s with --join (server.join); if it has joined while peer %s was away, name it or another present peer "+
		"in server.join of peer %s, in place of server.bootstrap, and restart peer %s", id, f.self, id, f.self, f.self, f.self)
}

// member reports whether this peer knows another one as a member of the cluster: by its data folder, or in Raft's configuration.
func (f *folders) member(id raft.ServerID) bool {
	if f.Of(id) != "" {
		return true
	}
	return f.open.Load() &&
		slices.ContainsFunc(f.raft.GetConfiguration().Configuration().Servers, func(s raft.Server) bool { return s.ID == id })
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
