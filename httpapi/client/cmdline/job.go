package cmdline

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// pollWait is how long one request for changes of a job may stay open.
const pollWait = 30 * time.Second

// Terminal reports whether the state of a job is final.
func Terminal(state string) bool {
	return state == wire.StateCompleted || state == wire.StateFailed || state == wire.StateCanceled
}

// WatchJob reads a job at each change until done returns true. While no peer can be reached it
// tries again: the job goes on, too.
func WatchJob(ctx context.Context, api *client.Client, id string, done func(*wire.Detail) (bool, error)) (*wire.Detail, error) {
	return WatchTask(ctx, api, id, "", done)
}

// WatchTask is WatchJob for a task of an array; empty: the job.
func WatchTask(ctx context.Context, api *client.Client, id, task string, done func(*wire.Detail) (bool, error)) (*wire.Detail, error) {
	query := client.JobQuery{Task: task}
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
		case !Passing(err):
			return nil, err
		default:
			query.Wait = 0
			if err := Pause(ctx, time.Second); err != nil {
				return nil, err
			}
		}
	}
}

// AwaitEnd waits until a job has ended, an array with all its tasks, even if peers fail meanwhile.
func AwaitEnd(ctx context.Context, api *client.Client, id string) (*wire.Detail, error) {
	return WatchJob(ctx, api, id, func(d *wire.Detail) (bool, error) {
		return Terminal(d.State), nil
	})
}

// Passing reports whether the error of a request is temporary.
func Passing(err error) bool {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests
	}
	return true
}

// KeepAttached reports to the cluster at an interval that this program still runs.
func KeepAttached(ctx context.Context, api *client.Client, id string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		// A failure is repeated at the next tick; a job that has ended needs no report.
		_, _ = api.Controls().Attach(ctx, id)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
