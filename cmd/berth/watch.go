package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// pollWait is how long one question for news of a job may stay open.
const pollWait = 30 * time.Second

// isTerminal says that nothing will move a job in that state again.
func isTerminal(state string) bool {
	return state == model.TaskCompleted.String() || state == model.TaskFailed.String() || state == model.TaskCanceled.String()
}

// watchJob reads a job at each change until done says so. While no peer can be
// reached it goes on trying: the job goes on, too.
func watchJob(ctx context.Context, api *client.Client, id string, done func(*wire.Detail) (bool, error)) (*wire.Detail, error) {
	query := client.JobQuery{}
	for {
		detail, index, err := api.Job(ctx, id, query)
		switch {
		case err == nil:
			over, err := done(detail)
			if over || err != nil {
				return detail, err
			}
			query.Index, query.Wait = index, pollWait
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !passing(err):
			return nil, err
		default:
			query.Wait = 0
			if err := pause(ctx, time.Second); err != nil {
				return nil, err
			}
		}
	}
}

// passing says that an error may be gone in a moment.
func passing(err error) bool {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests
	}
	return true
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endOf turns a job's end into this program's.
func endOf(d *wire.Detail) error {
	switch {
	case d.State == model.TaskCompleted.String():
		return nil
	case d.State == model.TaskCanceled.String():
		return fmt.Errorf("job %s was canceled", d.ID)
	case d.Signal > 0:
		return exitError(128 + d.Signal)
	case d.ExitCode != nil && *d.ExitCode > 0:
		return exitError(*d.ExitCode)
	}
	return fmt.Errorf("job %s failed: %s", d.ID, d.Reason)
}

// followJob copies a job's output of each attempt from its start to its end, until
// the job has ended. Where the stream breaks it goes on behind what was shown.
func followJob(ctx context.Context, api *client.Client, id string, stdout, stderr io.Writer) error {
	shown := follower{api: api, id: id, out: stdout, err: stderr}
	_, err := watchJob(ctx, api, id, func(d *wire.Detail) (bool, error) {
		for n := shown.attempt + 1; n <= d.Attempts; n++ {
			if !hasStarted(d, n) {
				return isTerminal(d.State), nil
			}
			if err := shown.follow(ctx, n); err != nil {
				return false, err
			}
		}
		return isTerminal(d.State), nil
	})
	return err
}

// hasStarted says that an attempt has output, or never will have.
func hasStarted(d *wire.Detail, n int64) bool {
	for _, a := range d.History {
		if a.Number == n {
			return !a.StartedAt.IsZero() || !a.EndedAt.IsZero()
		}
	}
	return true
}

// follower shows the output of one attempt after the other.
type follower struct {
	api     *client.Client
	id      string
	out     io.Writer
	err     io.Writer
	attempt int64 // that has been shown to its end
	skip    int64 // bytes of the next one that have been shown
}

func (f *follower) follow(ctx context.Context, attempt int64) error {
	for {
		err := f.copy(ctx, attempt)
		switch {
		case err == nil:
			f.attempt, f.skip = attempt, 0
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isGone(err):
			fmt.Fprintf(f.err, "berth: the output of attempt %d of job %s cannot be had: %s\n", attempt, f.id, oneLine(err))
			f.attempt, f.skip = attempt, 0
			return nil
		case !passing(err):
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// isGone says that there is no output to wait for.
func isGone(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Status == http.StatusNotFound
}

// copy shows what comes behind the bytes that were shown.
func (f *follower) copy(ctx context.Context, attempt int64) error {
	stream, err := f.api.Logs(ctx, f.id, client.LogQuery{Attempt: attempt, Follow: true})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	if _, err := io.CopyN(io.Discard, stream, f.skip); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	n, err := io.Copy(f.out, stream)
	f.skip += n
	return err
}
