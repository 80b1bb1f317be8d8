package raftnet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/raft"
)

// Folders identifies the data folders of the cluster's peers. Every message of Raft names the folder of its
// sender and the folder that the sender expects at the receiver, so that a peer which comes back without its
// folder takes no part: neither its votes nor its acknowledgements count, nor do others vote for it. All
// methods must return at once, and may be called from any goroutine.
type Folders interface {
	// Own returns the id of this peer's data folder.
	Own() string
	// Of returns the folder id of another peer; empty while it is not known.
	Of(id raft.ServerID) string
	// Admit returns how Raft may take a message, or why the message must not reach Raft.
	Admit(m Sender) (Verdict, error)
}

// Sender is what a message says of its sender.
type Sender struct {
	ID       raft.ServerID
	Address  raft.ServerAddress
	Folder   string
	Expected string // the folder that the sender expects here; empty: unknown
	Says     Says
}

// Says is what a message of Raft says.
type Says uint8

// The messages.
const (
	SaysEntries Says = iota // entries, a heartbeat or a snapshot of a leader
	SaysVote                // that the sender stands for election
	SaysPreVote             // that the sender would stand
	SaysStand               // that the receiver is to stand at once
)

// Verdict is how Raft may take a message.
type Verdict struct {
	Outside bool // the sender has no vote in the configuration of this peer, which may be behind that of the sender
	Leads   bool // the sender is the leader that this peer hears
}

// stampMark separates the parts of a stamped address. No address contains it.
const stampMark = "\x1f"

var errNoStamp = errors.New("the sender names no data folder")

// stamp puts the folders' ids behind the sender's address in a header: on the wire
// there is no other place for them.
func stamp(f Folders, h raft.RPCHeader, to raft.ServerID) raft.RPCHeader {
	if f == nil {
		return h
	}
	h.Addr = []byte(strings.Join([]string{string(h.Addr), f.Own(), f.Of(to)}, stampMark))
	return h
}

// admit checks the stamp of a message and removes it, so that Raft finds the address alone.
func admit(f Folders, command any) (Verdict, error) {
	h, says := headerOf(command)
	if f == nil || h == nil {
		return Verdict{}, nil
	}
	parts := strings.Split(string(h.Addr), stampMark)
	if len(parts) != 3 {
		return Verdict{}, errNoStamp
	}
	h.Addr = []byte(parts[0])
	v, err := f.Admit(Sender{raft.ServerID(h.ID), raft.ServerAddress(parts[0]), parts[1], parts[2], says})
	if err != nil {
		return v, fmt.Errorf("refused a message of peer %s: %w", h.ID, err)
	}
	return v, nil
}

// bind makes a vote one for the id of its candidate. Raft remembers a vote by the address that the candidate names, and gives it again to
// each candidate that names the same: two members at one address, or one that names another's, would both be elected in one term. No
// address has a space.
//
// Raft refuses its vote to candidates that have none in its own configuration. That configuration may be behind, and then no leader could
// come where the peers that are up need this vote: a vote is one for a log that is as new, whatever configuration the voter has (Ongaro,
// "Consensus: Bridging Theory and Practice", section 4.1). Without an id Raft skips that look.
func bind(q *raft.RequestVoteRequest, v Verdict) {
	q.Addr = []byte("peer " + string(q.ID))
	q.LeadershipTransfer = q.LeadershipTransfer || v.Leads // Raft would know its leader by the address
	if v.Outside {
		q.ID = nil
	}
}

// headerOf returns the header of a request, and what the request says; nil: it is not one of Raft's.
func headerOf(command any) (*raft.RPCHeader, Says) {
	switch q := command.(type) {
	case *raft.AppendEntriesRequest:
		return &q.RPCHeader, SaysEntries
	case *raft.RequestVoteRequest:
		return &q.RPCHeader, SaysVote
	case *raft.RequestPreVoteRequest:
		return &q.RPCHeader, SaysPreVote
	case *raft.InstallSnapshotRequest:
		return &q.RPCHeader, SaysEntries
	case *raft.TimeoutNowRequest:
		return &q.RPCHeader, SaysStand
	}
	return nil, 0
}
