package cluster

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
)

// batcher does for many callers at once what costs a log entry: one barrier for all reads that wait, one command
// for all renewals of a while. (Proposals have lanes instead: an entry holds what fits, and control goes first.)
type batcher[In, Out any] struct {
	most int                                        // items of a batch
	open func(In) time.Duration                     // how long a batch with an item may stay open for more; 0: for what waits already
	do   func(context.Context, []In) ([]Out, error) // returns as many results as items, or an error for all
	in   chan batched[In, Out]
	over chan struct{} // closed when run has ended
}

// batched is an item with the channel of its one answer.
type batched[In, Out any] struct {
	item In
	done chan given[Out]
}

type given[Out any] struct {
	out Out
	err error
}

func newBatcher[In, Out any](most int, open func(In) time.Duration, do func(context.Context, []In) ([]Out, error)) *batcher[In, Out] {
	return &batcher[In, Out]{most: most, open: open, do: do, in: make(chan batched[In, Out]), over: make(chan struct{})}
}

// wait adds an item to the batch that is being collected and returns its result. When run has ended, the error is
// [peer.ErrClosed].
func (b *batcher[In, Out]) wait(ctx context.Context, item In) (out Out, err error) {
	a := batched[In, Out]{item, make(chan given[Out], 1)}
	select {
	case b.in <- a:
	case <-b.over:
		return out, peer.ErrClosed
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
	select {
	case g := <-a.done: // run answers every item that it has taken
		return g.out, g.err
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
}

// run collects batches and does them, one after the other, until the context ends.
func (b *batcher[In, Out]) run(ctx context.Context) {
	defer close(b.over)
	for {
		select {
		case first := <-b.in:
			b.answer(ctx, b.collect(ctx, first))
		case <-ctx.Done():
			return
		}
	}
}

// collect takes items until the batch is full or the shortest time of its items has passed.
func (b *batcher[In, Out]) collect(ctx context.Context, first batched[In, Out]) []batched[In, Out] {
	batch := []batched[In, Out]{first}
	left := b.open(first.item)
	began := time.Now()
	closing := time.NewTimer(left)
	defer closing.Stop()
	for len(batch) < b.most {
		var next batched[In, Out]
		if left <= 0 {
			select {
			case next = <-b.in:
			default:
				return batch
			}
		} else {
			select {
			case next = <-b.in:
			case <-closing.C:
				left = 0
				continue
			case <-ctx.Done():
				return batch
			}
		}
		batch = append(batch, next)
		if open := b.open(next.item) + time.Since(began); open < left {
			left = open
			closing.Reset(left - time.Since(began))
		}
	}
	return batch
}

func (b *batcher[In, Out]) answer(ctx context.Context, batch []batched[In, Out]) {
	items := make([]In, len(batch))
	for i := range batch {
		items[i] = batch[i].item
	}
	out, err := b.do(ctx, items)
	for i := range batch {
		g := given[Out]{err: err}
		if err == nil {
			g.out = out[i]
		}
		batch[i].done <- g
	}
}
