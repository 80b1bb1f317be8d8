package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// startAnew is the remedy for a peer whose folder cannot be used.
const startAnew = "move the folder away and start this peer with an empty one, a new --id and --join (server.id, server.join)"

// explainStore returns why a data folder cannot be used, in one line.
func explainStore(err error) error {
	if fault, is := errors.AsType[*raftstore.Fault](err); is {
		return fault
	}
	return err
}

// explainStart returns why a peer over a sound data folder does not start.
func explainStart(o *options, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: another process listens on this address; stop it, or choose another with server.listen (--listen)", o.listen)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not listen on this port; choose one above 1023 with server.listen (--listen)", o.listen)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: this machine has no such address; choose another with server.listen (--listen)", o.listen)
	}
	return fmt.Errorf("%s: the peer does not start: %w; read the log above; if the folder is at fault, %s", o.data, err, startAnew)
}

// explainHalt returns why a running peer must stop. Most reasons contain their remedy.
func explainHalt(o *options, reason error) error {
	if errors.Is(reason, state.ErrCorrupt) {
		reason = fmt.Errorf("%w; %s", reason, startAnew)
	}
	if _, newer := errors.AsType[*command.UnknownError](reason); newer {
		reason = fmt.Errorf("%w; this is version %s, which knows feature levels up to %d; berth peers shows the versions of the others", reason, build.Version(), command.Level)
	}
	if errors.Is(reason, peer.ErrRemoved) {
		return fmt.Errorf("%s: peer %s stops: %w", o.data, o.id, reason)
	}
	return fmt.Errorf("%s: peer %s stops after a fault: %w", o.data, o.id, reason)
}

// halt ends the process because the peer has found that it must not go on.
//
//berth:halt
func (s *service) halt(reason error) {
	code := cmdline.ExitFailure
	if errors.Is(reason, peer.ErrRemoved) {
		if !s.leaving.CompareAndSwap(false, true) {
			return // it ends already
		}
		code = cmdline.ExitRemoved
	}
	why := cmdline.OneLine(explainHalt(&s.o, reason))
	s.manager.Stopping(why)
	s.noteEnd(code, why)
	if code == cmdline.ExitRemoved { // the request for the removal may have come to this peer, and waits for its answer
		<-s.web.drain()
	}
	s.out.last(s.out.sentence(why), flushLimit)
	os.Exit(code)
}

// noteEnd stores why this peer ends, for berth doctor.
func (s *service) noteEnd(code int, why string) {
	if err := inspect.NoteEnd(s.o.data, &inspect.Ended{At: time.Now(), Code: code, Why: why}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("end_not_noted", "err", err)
	}
}
