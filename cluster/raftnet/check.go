package raftnet

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// checks are the checks of other peers' messages.
type checks struct {
	folders Folders
	entry   func(*raft.Log) error
}

// malformed returns what is wrong with a message, in its form or in one of its entries.
func (c checks) malformed(command any) error {
	if err := check(command); err != nil {
		return err
	}
	request, is := command.(*raft.AppendEntriesRequest)
	if !is || c.entry == nil {
		return nil
	}
	for _, entry := range request.Entries {
		if err := c.entry(entry); err != nil {
			return fmt.Errorf("entry %d is damaged: %w", entry.Index, err)
		}
	}
	return nil
}

// check refuses messages that no leader sends and that raft does not survive: it reads entries and
// configurations from the wire as if they could not be wrong, and a nil entry or an unreadable configuration
// would end the process.
func check(command any) error {
	switch request := command.(type) {
	case *raft.AppendEntriesRequest:
		return checkAppend(request)
	case *raft.InstallSnapshotRequest:
		if request.Size < 0 {
			return fmt.Errorf("snapshot of %d bytes", request.Size)
		}
		if request.SnapshotVersion > 0 {
			return checkConfiguration(request.Configuration)
		}
	}
	return nil
}

func checkAppend(request *raft.AppendEntriesRequest) error {
	if request.Term == 0 {
		return errors.New("entries of term 0")
	}
	for i, entry := range request.Entries {
		want := request.PrevLogEntry + uint64(i) + 1
		switch {
		case entry == nil:
			return fmt.Errorf("entry %d is nil", want)
		case entry.Index != want:
			return fmt.Errorf("entry %d stands where %d belongs", entry.Index, want)
		case entry.Term == 0 || entry.Term > request.Term:
			return fmt.Errorf("entry %d of term %d from a leader of term %d", want, entry.Term, request.Term)
		case entry.Type == raft.LogConfiguration:
			if err := checkConfiguration(entry.Data); err != nil {
				return fmt.Errorf("entry %d: %w", want, err)
			}
		}
	}
	return nil
}

// checkConfiguration returns an error unless raft can decode a configuration; raft panics on one that it
// cannot.
func checkConfiguration(encoded []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("unreadable configuration: %v", r)
		}
	}()
	raft.DecodeConfiguration(encoded)
	return nil
}
