// Package demo shows the main task of Berth: a whole cluster on this machine, forty jobs, a leader
// that is killed in the middle, and a verdict by marks that the jobs themselves have written.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Time limits.
const (
	endLimit  = 90 * time.Second
	refresh   = 300 * time.Millisecond
	killAfter = 7 * time.Second // from the first submission
)

// demo is one run of it.
type demo struct {
	out     io.Writer
	view    *view
	cluster *devcluster.Cluster
	api     *client.Client
	marks   string
	jobs    []*job
	verdict verdict
}

// Run runs the demo on a cluster that is ready, has run no job yet and restarts its members. The terminal says whether out can be drawn on.
// Its error lists everything that did not end as it should.
func Run(ctx context.Context, cluster *devcluster.Cluster, out io.Writer, terminal bool) (err error) {
	d := &demo{
		out: out, view: &view{out: out, terminal: terminal, began: time.Now(), all: len(mixture())}, jobs: mixture(),
		cluster: cluster, marks: filepath.Join(cluster.Folder(), "marks"),
	}
	if d.api, err = cluster.Client(); err != nil {
		return err
	}
	defer d.api.Close()
	if err := d.perform(ctx); err != nil {
		fmt.Fprintf(out, "The logs of the members end with\n%s", cluster.LastLines())
		return err
	}
	return nil
}

// perform runs the demo to the verdict.
func (d *demo) perform(ctx context.Context) error {
	d.view.tell("the cluster is ready: %s leads, %d GPUs", d.cluster.Leader(ctx), d.cluster.GPUs())
	stop := d.show(ctx)
	err := d.play(ctx)
	stop()
	d.view.finish()
	if err != nil {
		return err
	}
	if err := judge(ctx, d.api, d.jobs, d.marks, d.cluster.GPUs(), &d.verdict); err != nil {
		return err
	}
	fmt.Fprintln(d.out)
	d.verdict.print(d.out)
	fmt.Fprintln(d.out)
	if len(d.verdict.faults) > 0 {
		return fmt.Errorf("the demo failed: %s", strings.Join(d.verdict.faults, "; "))
	}
	fmt.Fprintln(d.out, "Every check holds: no job was lost, none ran twice, and no GPU had two owners.")
	return nil
}

// play submits the jobs, kills the leader among them, and waits for the end of all.
func (d *demo) play(ctx context.Context) error {
	held := 6 // jobs that are submitted while there is no leader
	for _, j := range d.jobs[:len(d.jobs)-held] {
		if err := d.submit(ctx, j); err != nil {
			return err
		}
	}
	d.view.tell("%d jobs are submitted, by way of any peer", len(d.jobs)-held)
	began := time.Now()
	if err := d.cancelOne(ctx); err != nil {
		return err
	}
	if err := cmdline.Pause(ctx, killAfter-time.Since(began)); err != nil {
		return err
	}
	if err := d.killLeader(ctx, d.jobs[len(d.jobs)-held:]); err != nil {
		return err
	}
	return d.awaitAll(ctx)
}

func (d *demo) submit(ctx context.Context, j *job) error {
	answer, err := d.api.Submit(ctx, j.request(d.marks), "")
	if err != nil {
		return fmt.Errorf("submitting %s: %w", j.name, err)
	}
	j.id = answer.JobID
	return nil
}

// cancelOne cancels the job that is meant to be canceled, once its own marks show that it runs.
func (d *demo) cancelOne(ctx context.Context) error {
	for _, j := range d.jobs {
		if j.fate != isCanceled {
			continue
		}
		for {
			detail, _, err := d.api.Job(ctx, j.id, client.JobQuery{})
			if err != nil {
				return err
			}
			if detail.State == wire.StateRunning && marked(d.marks, run{job: j.id, attempt: detail.Attempts}) {
				break
			}
			if err := cmdline.Pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		if _, err := d.api.Cancel(ctx, j.id, client.AllTasks, "the wrong dataset"); err != nil {
			return err
		}
		d.view.tell("%s cancels job %s (%s), which runs", j.user, j.id, j.name)
	}
	return nil
}

// killLeader kills the leader, and submits the remaining jobs at once.
func (d *demo) killLeader(ctx context.Context, rest []*job) error {
	d.verdict.failover.killed = d.cluster.Leader(ctx)
	if err := d.cluster.Kill(d.verdict.failover.killed); err != nil {
		return err
	}
	d.view.tell("kill -9 of %s, the leader; %d more jobs come right now", d.verdict.failover.killed, len(rest))
	died := time.Now()
	for i, j := range rest {
		if err := d.submit(ctx, j); err != nil {
			return err
		}
		if i == 0 {
			d.verdict.failover.took = time.Since(died)
		}
	}
	d.verdict.failover.meanwhile = len(rest)
	d.verdict.failover.successor = d.cluster.Leader(ctx)
	d.view.tell("%s leads after %d ms; all %d submissions are acknowledged", d.verdict.failover.successor, d.verdict.failover.took.Milliseconds(), len(rest))
	return nil
}

// awaitAll waits until every job has ended.
func (d *demo) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for {
		open := len(d.jobs)
		if q, err := d.api.Queue(ctx, client.QueueQuery{}); err == nil {
			open = len(q.Queued) + len(q.Running)
		}
		if open == 0 {
			d.view.tell("all %d jobs have ended", len(d.jobs))
			return nil
		}
		if err := cmdline.Pause(ctx, refresh); err != nil {
			if errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("%d jobs have not ended in %s", open, table.About(endLimit))
		}
	}
}

// show draws the cluster until stop is called.
func (d *demo) show(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for cmdline.Pause(ctx, refresh) == nil {
			queue, err1 := d.api.Queue(ctx, client.QueueQuery{})
			nodes, err2 := d.api.Nodes(ctx)
			peers, err3 := d.api.Peers(ctx)
			if err1 == nil && err2 == nil && err3 == nil {
				d.view.draw(queue, nodes, peers)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
