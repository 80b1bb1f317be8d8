// Package bench measures a whole cluster from outside, as its users meet it: three peers and their
// agents as processes on this machine, HTTP between them and the load, every commit on disk.
//
// Figures depend on the machine: give them together with its description, and compare figures of
// one run only.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/httpapi/client"
)

// Config is what to measure, and for how long.
type Config struct {
	Parts    []string // of [Parts]
	Dir      string   // folder on the disk to measure
	Clients  []int    // numbers of clients of the submissions
	Time     time.Duration
	Warm     time.Duration // before a run counts
	Runs     int           // of each point
	Jobs     int           // of the part run
	Trials   int           // of failover and start
	Queued   int           // jobs of the part memory
	InMemory bool          // measure although the folder is in memory
	Markdown bool
	Out      io.Writer
	Progress io.Writer
	Binary   string // the berth program; empty: this one
}

// Parts returns the names of the parts in order.
func Parts() []string {
	return []string{"submit", "access", "tls", "run", "start", "failover", "memory", "node"}
}

// runner is one run of the program.
type runner struct {
	Config

	made int // clusters
}

// Run measures the parts and prints a table for each.
func Run(ctx context.Context, c Config) (err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder: %w", err)
	}
	dir, err := os.MkdirTemp(c.Dir, "berth-bench-")
	if err != nil {
		return fmt.Errorf("cannot use the folder: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil { // jobs, which write to it, run in folders of their own
		return fmt.Errorf("cannot use the folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Dir = dir
	r := &runner{Config: c}
	about, err := figures.Machine(c.Dir, c.InMemory)
	if err != nil {
		return err
	}
	if err := show(about, c.Out, c.Markdown); err != nil {
		return err
	}
	parts := map[string]func(context.Context) (*figures.Table, error){
		"submit": r.submit, "access": r.access, "tls": r.secure, "run": r.run, "start": r.start, "failover": r.failover, "memory": r.memory, "node": r.node,
	}
	for _, name := range Parts() {
		if !slices.Contains(c.Parts, name) {
			continue
		}
		t, err := parts[name](ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := show(t, c.Out, c.Markdown); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) say(format string, args ...any) { fmt.Fprintf(r.Progress, format+"\n", args...) }

// cluster starts a new cluster and waits until it is ready.
func (r *runner) cluster(ctx context.Context, nodes int, restart bool) (*devcluster.Cluster, error) {
	return r.clusterOf(ctx, devcluster.Config{Nodes: nodes, Restart: restart})
}

// clusterOf is cluster with the other fields of a configuration.
func (r *runner) clusterOf(ctx context.Context, c devcluster.Config) (*devcluster.Cluster, error) {
	r.made++
	c.Binary, c.Data, c.HTTP, c.Peers, c.GPUs = r.Binary, fmt.Sprintf("%s/%d", r.Dir, r.made), "127.0.0.1:0", 3, 8
	made, err := devcluster.Start(c)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := made.Ready(limited); err != nil {
		return nil, errors.Join(err, r.end(made))
	}
	return made, nil
}

// with runs a function with a cluster and a client, and ends the cluster afterwards.
func (r *runner) with(ctx context.Context, nodes int, do func(*devcluster.Cluster, *client.Client) error) (err error) {
	c, err := r.cluster(ctx, nodes, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.end(c)) }()
	api, err := c.Client()
	if err != nil {
		return err
	}
	defer api.Close()
	return do(c, api)
}

// end stops a cluster and removes its data.
func (r *runner) end(c *devcluster.Cluster) error {
	err := c.Stop(context.Background())
	c.StopJobs(context.Background())
	return errors.Join(err, os.RemoveAll(c.Folder()))
}
