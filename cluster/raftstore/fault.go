package raftstore

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of a Fault, for errors.Is.
var (
	// ErrLocked means that another process uses the folder or a file in it.
	ErrLocked = errors.New("in use")
	// ErrUnusable means that the folder cannot be created, read or written.
	ErrUnusable = errors.New("not usable")
	// ErrNoSpace means that the file system has too little space left.
	ErrNoSpace = errors.New("too little space")
	// ErrForeign means that the folder belongs to another peer or cluster.
	ErrForeign = errors.New("belongs to another")
	// ErrCorrupt means that the folder's content is damaged or incomplete.
	ErrCorrupt = errors.New("damaged")
)

// Fault is a reason why a data folder cannot be used, written for the operator: always one line.
type Fault struct {
	Kind error  // one of the Err values above
	Path string // the file or folder concerned
	What string // what is wrong
	Do   string // what to do about it
	Err  error  // the cause, if there is one
}

// Error returns "PATH: WHAT (CAUSE); DO" in one line.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Path, f.What)
	if f.Err != nil {
		fmt.Fprintf(&b, " (%v)", f.Err)
	}
	fmt.Fprintf(&b, "; %s", f.Do)
	return strings.Join(strings.Fields(b.String()), " ")
}

// Unwrap returns the kind and the cause, for errors.Is and errors.As.
func (f *Fault) Unwrap() []error {
	if f.Err == nil {
		return []error{f.Kind}
	}
	return []error{f.Kind, f.Err}
}

// rejoin is the remedy for every damaged store.
const rejoin = "do not repair it in place: stop this peer, move the folder away, and start a new peer " +
	"with an empty folder, a new --id and --join (server.id, server.join); a lost folder never comes back under its old id"

// corrupt builds the fault of a damaged file.
func corrupt(path, what string, err error) *Fault {
	return &Fault{Kind: ErrCorrupt, Path: path, What: what, Do: rejoin, Err: err}
}
