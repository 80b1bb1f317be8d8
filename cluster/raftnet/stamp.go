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
	// Admit returns why a message must not reach Raft, or nil.
	Admit(m Sender) error
}

// Sender is what a message says of its sender.
type Sender struct {
	ID       raft.ServerID
	Address  raft.ServerAddress
	Folder   string
	Expected string // the folder that the sender expects here; empty: unknown
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
func admit(f Folders, command any) error {
	h := headerOf(command)
	if f == nil || h == nil {
		return nil
	}
	parts := strings.Split(string(h.Addr), stampMark)
	if len(parts) != 3 {
		return errNoStamp
	}
	h.Addr = []byte(parts[0])
	if err := f.Admit(Sender{raft.ServerID(h.ID), raft.ServerAddress(parts[0]), parts[1], parts[2]}); err != nil {
		return fmt.Errorf("refused a message of peer %s: %w", h.ID, err)
	}
	return nil
}

// headerOf returns the header of a request, nil if it is not one of Raft's.
func headerOf(command any) *raft.RPCHeader {
	switch q := command.(type) {
	case *raft.AppendEntriesRequest:
		return &q.RPCHeader
	case *raft.RequestVoteRequest:
		return &q.RPCHeader
	case *raft.RequestPreVoteRequest:
		return &q.RPCHeader
	case *raft.InstallSnapshotRequest:
		return &q.RPCHeader
	case *raft.TimeoutNowRequest:
		return &q.RPCHeader
	}
	return nil
}
