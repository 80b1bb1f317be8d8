package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/reach"
	"github.com/berth-gpu/berth/slurm/cli/submit"
	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
)

// allocationScript is the script of an allocation, which is shown and never runs.
const allocationScript = "#!/bin/sh\n# An allocation of salloc, or of srun with a terminal: srun runs its steps. This script is not started.\n"

// Times of an allocation.
const (
	linger       = time.Minute      // that it lasts after its program has ended without giving it back
	startQuietly = time.Second      // before a message says that it waits
	serverStarts = time.Minute      // until its server of steps answers
	releaseWait  = 10 * time.Second // until it has ended after it was given back
)

// allocation is a job that runs steps only, as long as this program lasts.
type allocation struct {
	api    *client.Client
	say    io.Writer
	prefix string // of messages, such as "salloc: "
	quiet  bool
	step   bool // it is for one step of this srun, and not of salloc

	id      string
	detach  context.CancelFunc
	file    jobfile.File // describes the job
	revoked bool         // it does not run any more
}

// inform writes a message that is no error.
func (a *allocation) inform(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.say, a.prefix+format+"\n", args...)
	}
}

// submit queues the allocation. lasting is for one that does not end with this program.
func (a *allocation) submit(ctx context.Context, h *host.Host, j *submit.Job, lasting bool) error {
	j.Dial, j.Me, j.Shell = h.Dialer(a.say), h.Me, h.Shell
	j.Say, j.Prefix, j.Quiet, j.Script = a.say, a.prefix, a.quiet, []byte(allocationScript)
	request, _, err := j.Request(ctx)
	if err != nil {
		return err
	}
	if request.Slurm.Container != nil {
		a.inform("the image has no effect on an allocation; give --container-image to srun")
		request.Slurm.Container = nil
	}
	request.Slurm.Allocation, request.Slurm.ScriptName, request.Args = true, "", nil
	request.Shell = nil // each step has the environment of its srun
	request.OnLost = "fail"
	if !lasting {
		request.Attached = new(wire.Duration(linger))
	}
	request.User = h.OwnName()
	if a.api, err = j.Dial(); err != nil {
		return err
	}
	answer, err := a.api.Submit(ctx, request, "")
	if err != nil {
		return fmt.Errorf("Unable to allocate resources: %w", err) //nolint:staticcheck // in Slurm's words, which programs look for
	}
	a.id = answer.JobID
	if !lasting {
		kept, detach := context.WithCancel(context.WithoutCancel(ctx))
		a.detach = detach
		go cmdline.KeepAttached(kept, a.api, a.id, linger/4)
	}
	return nil
}

// errBusy is the error of an allocation that may not wait.
var errBusy = errors.New("Unable to allocate resources: Requested nodes are busy") //nolint:staticcheck // in Slurm's words, which programs look for

// start waits until the allocation runs, at most for the time limit if that is not 0. An allocation that does not start is canceled.
func (a *allocation) start(ctx context.Context, limit time.Duration) error {
	err := a.run(ctx, limit)
	if err == nil {
		return nil
	}
	if _, canceled := a.api.Cancel(context.WithoutCancel(ctx), a.id, client.AllTasks, "not started"); canceled == nil {
		a.inform("Job allocation %s has been revoked.", a.id)
	}
	if ctx.Err() != nil {
		return cmdline.Signaled(ctx)
	}
	return err
}

func (a *allocation) run(ctx context.Context, limit time.Duration) error {
	runs := func(d *wire.Detail) (bool, error) {
		switch d.State {
		case wire.StateRunning:
			return true, nil
		case wire.StateQueued, wire.StateScheduled, wire.StateAllocating:
			return false, nil
		}
		return false, fmt.Errorf("job %s is %s before it could be used: %s", a.id, d.State, d.Reason)
	}
	if limit < 0 {
		limit = startQuietly
	}
	quietly, cancel := context.WithTimeout(ctx, startQuietly)
	_, err := cmdline.WatchJob(quietly, a.api, a.id, runs)
	cancel()
	waited := errors.Is(err, context.DeadlineExceeded)
	if waited && (limit == 0 || limit > startQuietly) {
		if !a.step {
			a.inform("Pending job allocation %s", a.id)
		}
		a.inform("job %s queued and waiting for resources", a.id)
		patient, stop := ctx, context.CancelFunc(func() {})
		if limit > 0 {
			patient, stop = context.WithTimeout(ctx, limit-startQuietly)
		}
		_, err = cmdline.WatchJob(patient, a.api, a.id, runs)
		stop()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errBusy
	}
	if err != nil {
		return err
	}
	if waited {
		a.inform("job %s has been allocated resources", a.id)
	}
	if !a.step {
		a.inform("Granted job allocation %s", a.id)
	}
	return a.describe(ctx)
}

// describe waits until the server of steps answers, and asks for what it knows of the job.
func (a *allocation) describe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverStarts)
	defer cancel()
	conn, err := reach.Steps(ctx, a.api, a.id, "")
	if err != nil {
		return fmt.Errorf("the allocation has no server of steps: %w", err)
	}
	defer func() { _ = conn.Close() }()
	return errors.Join(conn.Send(link.KindDescribe), conn.Expect(link.KindJob, &a.file))
}

// environment returns the variables of this program with those of the allocation, in place of those of a job that this program runs in.
func (a *allocation) environment() []string {
	all := os.Environ()
	if os.Getenv(jobfile.Variable) != "" {
		all = slices.DeleteFunc(all, func(pair string) bool {
			return strings.HasPrefix(pair, "SLURM_") || strings.HasPrefix(pair, "SLURMD_") || strings.HasPrefix(pair, jobfile.Variable+"=")
		})
	}
	return append(all, environ.Allocation(a.file.Job)...)
}

// release gives the allocation back and waits until it has ended; it is canceled if the server of steps does not answer.
func (a *allocation) release() {
	defer a.detach()
	if a.revoked {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	conn, err := a.api.Steps(ctx, a.id, "")
	if err == nil {
		c := link.New(conn)
		if err = c.Send(link.KindRelease); err == nil {
			_, _ = c.Receive() // its end
		}
		_ = c.Close()
	}
	if err != nil {
		_, _ = a.api.Cancel(ctx, a.id, client.AllTasks, "given back") // otherwise the cluster cancels the job after the time linger
	}
	_, _ = cmdline.AwaitEnd(ctx, a.api, a.id) // it ends by itself
}
