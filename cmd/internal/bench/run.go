package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// submitters is the number of clients that submit the jobs of the part run.
const submitters = 16

// run measures jobs a second from end to end: real processes on sixteen simulated
// GPUs, from the first submission to the last end.
func (r *runner) run(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Jobs from end to end: %d of true, one GPU each, on 2 nodes with 8: median of %d runs", r.Jobs, r.Runs),
		Head:  []string{"jobs", "jobs a second", "lowest", "highest", "CPU each of peers, agents and load"},
	}
	var rates []float64
	var cpu time.Duration
	for n := range r.Runs {
		r.say("run: %d jobs, run %d of %d", r.Jobs, n+1, r.Runs)
		took, used, err := r.runOnce(ctx)
		if err != nil {
			return nil, err
		}
		rates = append(rates, float64(r.Jobs)/took.Seconds())
		cpu += used
	}
	median, least, most := figures.Spread(rates)
	out.Add(fmt.Sprint(r.Jobs), figures.Count(median), figures.Count(least), figures.Count(most),
		figures.Millis(cpu/time.Duration(r.Jobs*r.Runs)))
	return out, nil
}

func (r *runner) runOnce(ctx context.Context) (took, cpu time.Duration, err error) {
	err = r.with(ctx, 2, func(c *devcluster.Cluster, api *client.Client) error {
		before := processorTime(c.Members())
		began := time.Now()
		if err := submitMany(ctx, api, r.Jobs); err != nil {
			return err
		}
		if err := awaitCount(ctx, api, int64(r.Jobs)); err != nil {
			return err
		}
		took, cpu = time.Since(began), processorTime(c.Members())-before
		return nil
	})
	return took, cpu, err
}

// submitMany submits jobs by several clients at once.
func submitMany(ctx context.Context, api *client.Client, n int) error {
	var work sync.WaitGroup
	errs := make([]error, submitters)
	for i := range submitters {
		work.Go(func() {
			for j := i; j < n && errs[i] == nil; j += submitters {
				_, errs[i] = api.Submit(ctx, oneLine(fmt.Sprintf("user%d", i)), "")
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// awaitCount waits until n jobs have completed.
func awaitCount(ctx context.Context, api *client.Client, n int64) error {
	for {
		s, err := api.Statistics(ctx)
		switch {
		case err != nil:
			return err
		case s.Failed+s.Canceled > 0:
			return fmt.Errorf("%d jobs failed and %d were canceled", s.Failed, s.Canceled)
		case s.Completed >= n:
			return nil
		}
		if err := cmdline.Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// start measures how soon a job's process runs on an idle cluster, by the clock
// that the process itself reads.
func (r *runner) start(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Start on an idle cluster: from the sending of the submission to the first line of the job, %d jobs", r.Trials),
		Head:  []string{"jobs", "least", "p50", "p99", "most"},
	}
	var all []time.Duration
	err := r.with(ctx, 2, func(_ *devcluster.Cluster, api *client.Client) error {
		r.say("start: %d jobs", r.Trials)
		for n := range r.Trials {
			took, err := r.startOnce(ctx, api, n)
			if err != nil {
				return err
			}
			all = append(all, took)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Add(fmt.Sprint(r.Trials), figures.At(all, 0), figures.At(all, 50), figures.At(all, 99), figures.At(all, 100))
	return out, nil
}

func (r *runner) startOnce(ctx context.Context, api *client.Client, n int) (time.Duration, error) {
	path := filepath.Join(r.Dir, fmt.Sprintf("started-%d", n))
	one := int64(1)
	job := &wire.Submit{User: "bench", Command: `date +%s%N > "$STARTED"`, GPUs: &one, Env: map[string]string{"STARTED": path}}
	sent := time.Now()
	answer, err := api.Submit(ctx, job, "")
	if err != nil {
		return 0, err
	}
	if err := awaitJob(ctx, api, answer.JobID); err != nil {
		return 0, err
	}
	data, err := os.ReadFile(path) //nolint:gosec // written by the job above
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Unix(0, ns).Sub(sent), cmdline.Pause(ctx, 50*time.Millisecond) // idle again
}

func awaitJob(ctx context.Context, api *client.Client, id string) error {
	q := client.JobQuery{}
	for {
		d, index, err := api.Job(ctx, id, q)
		if err != nil {
			return err
		}
		if !d.EndedAt.IsZero() {
			if d.State != "completed" {
				return fmt.Errorf("job %s is %s: %s", id, d.State, d.Reason)
			}
			return nil
		}
		q.Index, q.Wait = index, 10*time.Second
	}
}
