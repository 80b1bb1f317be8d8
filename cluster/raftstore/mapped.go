package raftstore

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// unreadable returns the fault of a file that the disk does not give back.
func unreadable(path string, err error) *Fault {
	return &Fault{
		Kind: ErrUnusable, Path: path, What: "the disk cannot read the file", Err: err,
		Do: "look at the disk (dmesg, smartctl): the file may be whole, so keep it, and start the peer again once the disk can be read; if the disk has failed for good, " +
			"start a new peer with an empty folder, a new --id and --join (server.id, server.join)",
	}
}

// errMapped means that a page of a mapped file could not be read.
var errMapped = errors.New("I/O error in a mapped file")

// mapped runs what reads a file that bbolt has mapped. A page that the disk cannot read is a fault of the processor (SIGBUS) there, which
// ends the process with the stacks of all goroutines unless it is made a panic of this goroutine.
// Every other panic goes on.
//
//berth:halt
func mapped(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = unreadable(path, errMapped)
		default:
			panic(p) // not of the disk
		}
	}()
	return f()
}

// attentive is a file that remembers the first error of the disk: what cannot be read is not damaged.
type attentive struct {
	io.ReaderAt

	failed error
}

// ReadAt reads at an offset.
func (a *attentive) ReadAt(b []byte, at int64) (int, error) {
	n, err := a.ReaderAt.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) && a.failed == nil {
		a.failed = fmt.Errorf("at byte %d: %w", at, err)
	}
	return n, err
}
