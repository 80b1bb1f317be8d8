package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	shown "github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
)

// memory measures what a long queue costs.
func (r *runner) memory(ctx context.Context) (_ *figures.Table, err error) {
	out := &figures.Table{
		Title: "A long queue",
		Head:  []string{"queued", "leader's memory", "a follower's", "first 100 of the queue, p50", "p99", "whole queue, p50", "a submission, p50", "p99"},
	}
	c, err := r.cluster(ctx, 0, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end(c)) }()
	api, err := client.New(client.Options{Addresses: []string{addressOf(c, c.Leader(ctx))}})
	if err != nil {
		return nil, err
	}
	defer api.Close()
	queued := 0
	for _, target := range []int{0, r.Queued} {
		r.say("memory: %d queued", target)
		if err := submitMany(ctx, api, target-queued); err != nil {
			return nil, err
		}
		queued = target
		if err := r.queueRow(ctx, out, c, api, &queued); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *runner) queueRow(ctx context.Context, out *figures.Table, c *devcluster.Cluster, api *client.Client, queued *int) error {
	length := *queued
	leader := c.Leader(ctx)
	var led, followed float64
	for _, m := range c.Members() {
		if m.Name == leader {
			led = resident(m.PID)
		} else {
			followed = max(followed, resident(m.PID))
		}
	}
	first, err := times(ctx, 50, func() error { _, err := api.Queue(ctx, client.QueueQuery{Limit: 100}); return err })
	if err != nil {
		return err
	}
	whole, err := times(ctx, 5, func() error { _, err := api.Queue(ctx, client.QueueQuery{}); return err })
	if err != nil {
		return err
	}
	submitted, err := times(ctx, 100, func() error { _, err := api.Submit(ctx, oneLine("bench"), ""); return err })
	if err != nil {
		return err
	}
	*queued += len(submitted)
	out.Add(figures.Count(float64(length)), shown.Bytes(led), shown.Bytes(followed), figures.At(first, 50), figures.At(first, 99),
		figures.At(whole, 50), figures.At(submitted, 50), figures.At(submitted, 99))
	return nil
}

// times runs a function n times, and returns how long each run took.
func times(ctx context.Context, n int, do func() error) (out []time.Duration, err error) {
	for range n {
		began := time.Now()
		if err := do(); err != nil {
			return nil, fmt.Errorf("after %d: %w", len(out), err)
		}
		out = append(out, time.Since(began))
	}
	return out, ctx.Err()
}
