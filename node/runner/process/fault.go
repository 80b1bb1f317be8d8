package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// Bounds of how long a rank is prepared. Together they are less than what the cluster leaves a job to start, so that a user's
// file system that hangs is that job's failure, and not a node's that starts no jobs.
const (
	answerLimit  = time.Minute     // for a folder that users can change
	accountLimit = 3 * time.Minute // for an account, and the processes that run under it
)

// accountError is why there is no account for a job on this node. Another node may have it.
type accountError struct{ err error }

func (e *accountError) Error() string { return e.err.Error() }
func (e *accountError) Unwrap() error { return e.err }

// deniedError is why a job may not run here, for its user to read: the rank ends with that.
type deniedError struct{ err error }

func (e *deniedError) Error() string { return e.err.Error() }
func (e *deniedError) Unwrap() error { return e.err }

// ofNode reports whether a job was not started for a reason of this node: another node may start it. A supervisor uses only
// what no user can change, so its errors are the node's, but for limits that are the job's own: the quota of its account,
// to which its folders are given, and its memory.
func ofNode(err error, account *isolate.Account, bounded bool) bool {
	_, denied := errors.AsType[*deniedError](err)
	quota := account != nil && errors.Is(err, unix.EDQUOT)
	memory := bounded && errors.Is(err, unix.ENOMEM)
	return !denied && !quota && !memory
}

// ofPlace returns an error of a job's folder in a place of the node's own as one of the node if the place itself cannot be
// used, and else as one of the job: its user can change the folder, and may have filled a quota.
func ofPlace(ctx context.Context, limit time.Duration, place string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault := answers(ctx, limit, place, func() error { return usable(place) }); fault != nil {
		return fmt.Errorf("the node's folder %s: %w", place, fault)
	}
	return &deniedError{err}
}

// usable returns why nothing can be written to a folder; nil: it can.
func usable(dir string) error {
	room, err := disk.RoomOf(dir)
	if lack := room.Short(false); err == nil && lack != "" {
		return errors.New("its disk " + lack)
	}
	if err != nil {
		return err
	}
	return disk.Probe(dir)
}

// answers carries out what may wait for a file system that hangs, and returns its error, or one that says what does not answer.
func answers(ctx context.Context, limit time.Duration, what string, do func() error) error {
	_, err := answered(ctx, limit, what, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// answered is answers for what has a result. What comes too late is lost.
func answered[T any](ctx context.Context, limit time.Duration, what string, do func() (T, error)) (out T, err error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return out, ctx.Err()
	case <-timer.C:
		return out, late(what, limit)
	}
}

// late returns the error of what has not answered within a time.
func late(what string, limit time.Duration) error {
	return fmt.Errorf("%s does not answer (for %s): its file system may hang", what, limit)
}
