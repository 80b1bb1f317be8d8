// Package reach connects programs outside of a job in Slurm's language to the job's server of steps, by way of a peer.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/run/link"
)

// Times of a connection.
const (
	reachWait  = 5 * time.Second // for the server of steps of a job that runs, on a node that can be reached
	retryPause = 100 * time.Millisecond
)

// Steps connects to the server of steps of a job, and tries again while it does not answer yet.
func Steps(ctx context.Context, api *client.Client, id, task string) (*link.Conn, error) {
	return steps(ctx, api, id, task, nil)
}

// steps is Steps; while a node can be reached whose server of steps does not answer, it tries again until patience is closed.
func steps(ctx context.Context, api *client.Client, id, task string, patience <-chan struct{}) (*link.Conn, error) {
	for {
		conn, err := api.Steps(context.WithoutCancel(ctx), id, task)
		if err == nil {
			return link.New(conn), nil
		}
		p, is := errors.AsType[*wire.Problem](err)
		early := is && (p.Code == model.CodeUnavailable.String() || p.Status >= http.StatusInternalServerError)
		if !early && !errors.Is(err, client.ErrUnreachable) {
			return nil, err
		}
		if is && p.Code == model.CodeUnavailable.String() {
			select {
			case <-patience:
				return nil, err
			default:
			}
		}
		if cmdline.Pause(ctx, retryPause) != nil {
			return nil, err
		}
	}
}

// Job returns what connects srun to the server of steps of a job that it does not belong to.
func Job(dial func() (*client.Client, error)) func(form.JobRef) (*link.Conn, error) {
	return func(ref form.JobRef) (*link.Conn, error) {
		if ref.All || len(ref.Tasks) > 1 {
			return nil, fmt.Errorf("%s are several jobs: name one", ref)
		}
		api, err := dial()
		if err != nil {
			return nil, err
		}
		number := ""
		if len(ref.Tasks) == 1 {
			number = strconv.Itoa(ref.Tasks[0])
		}
		ctx, cancel := context.WithTimeout(context.Background(), tunnel.ResumeFor) // an agent may be restarted
		defer cancel()
		short, end := context.WithTimeout(ctx, reachWait)
		defer end()
		conn, err := steps(ctx, api, strconv.FormatUint(ref.Job, 10), number, short.Done())
		if p, is := errors.AsType[*wire.Problem](err); is {
			switch p.Code {
			case wire.CodeNotFound:
				return nil, fmt.Errorf("Unable to confirm allocation for job %s: %s\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s", ref, p.Detail, ref) //nolint:staticcheck // as Slurm
			case model.CodeTerminal.String():
				return nil, fmt.Errorf("Slurm job %s has expired\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s", ref, ref) //nolint:staticcheck // as Slurm
			}
		}
		return conn, cmdline.Advise(err)
	}
}

// Signal sends a signal to processes of a job that runs; task is that of an array, or empty.
func Signal(ctx context.Context, api *client.Client, id, task string, s link.Signal) error {
	if _, err := strconv.Atoi(task); task != "" && err != nil {
		return fmt.Errorf("its tasks %s do not run", task) // only those that wait are in one row
	}
	raw, err := api.Steps(ctx, id, task)
	if err != nil {
		return err
	}
	conn := link.New(raw)
	defer func() { _ = conn.Close() }()
	if err := conn.SendValue(link.KindSignalJob, s); err != nil {
		return err
	}
	switch f, err := conn.Receive(); {
	case err != nil:
		return fmt.Errorf("the server of steps does not answer: %w", err)
	case f.Kind == link.KindRefused:
		return errors.New(string(f.Body))
	}
	return nil
}
