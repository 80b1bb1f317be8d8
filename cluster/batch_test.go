package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// What comes while a batch is being done is in the next one, and each caller gets the result of its own item.
func TestABatchTakesWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var batches [][]int
		b := newBatcher(3, func(int) time.Duration { return 0 }, func(_ context.Context, items []int) ([]int, error) {
			batches = append(batches, items)
			time.Sleep(time.Second)
			out := slices.Clone(items)
			for i := range out {
				out[i] *= 10
			}
			return out, nil
		})
		go b.run(ctx)
		var calls sync.WaitGroup
		for i := range 5 {
			calls.Go(func() {
				if i > 0 {
					time.Sleep(time.Millisecond) // after the first has begun
				}
				if out, err := b.wait(ctx, i+1); err != nil || out != 10*(i+1) {
					t.Errorf("item %d: %d, %v", i+1, out, err)
				}
			})
		}
		calls.Wait()
		if len(batches) != 3 || len(batches[0]) != 1 || len(batches[1]) != 3 || len(batches[2]) != 1 {
			t.Errorf("the batches are %v, want one of 1, 3 and 1", batches)
		}
		stop()
		synctest.Wait()
		if _, err := b.wait(t.Context(), 6); !errors.Is(err, peer.ErrClosed) {
			t.Errorf("after the end: %v, want %v", err, peer.ErrClosed)
		}
	})
}

// An error is that of every item of the batch, and a caller that goes away does not hold up the others.
func TestABatchThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		broken := errors.New("broken")
		b := newBatcher(3, func(int) time.Duration { return time.Minute }, func(context.Context, []int) ([]int, error) { return nil, broken })
		go b.run(ctx)
		gone, leave := context.WithTimeout(ctx, time.Second)
		defer leave()
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := b.wait(gone, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller that went away: %v", err)
			}
		})
		calls.Go(func() {
			if _, err := b.wait(ctx, 2); !errors.Is(err, broken) {
				t.Errorf("the other caller: %v, want %v", err, broken)
			}
		})
		calls.Wait()
	})
}

// Urgent renewals that arrive together share one entry.
func TestUrgentRenewalsShareAnEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var sizes []int
		tuning := Tuning{}.withDefaults(Unguarded{})
		b := newBatcher(maxGathered, tuning.openFor, func(_ context.Context, r []renewing) ([]model.Code, error) {
			sizes = append(sizes, len(r))
			return make([]model.Code, len(r)), nil
		})
		go b.run(ctx)
		var calls sync.WaitGroup
		for i := range 3 {
			calls.Go(func() {
				if _, err := b.wait(ctx, renewing{command.Renewal{Node: "n1", Seq: uint64(i)}, true}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if len(sizes) != 1 || sizes[0] != 3 {
			t.Errorf("entries of %v renewals, want one of 3", sizes)
		}
	})
}

// An entry for renewals stays open for others as long as none of them is urgent.
func TestAnUrgentRenewalIsNotKeptWaiting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		urgent [2]bool
		after  time.Duration // the second comes a second after the first
	}{
		{"none is urgent", [2]bool{false, false}, 1800 * time.Millisecond},
		{"the first is", [2]bool{true, false}, 200 * time.Millisecond},
		{"the second is", [2]bool{false, true}, 1200 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			began := time.Now()
			var first time.Duration
			var sizes []int
			tuning := Tuning{}.withDefaults(Unguarded{})
			b := newBatcher(maxGathered, tuning.openFor, func(_ context.Context, r []renewing) ([]model.Code, error) {
				if len(sizes) == 0 {
					first = time.Since(began)
				}
				sizes = append(sizes, len(r))
				return make([]model.Code, len(r)), nil
			})
			go b.run(ctx)
			var calls sync.WaitGroup
			for i, urgent := range c.urgent {
				calls.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					if _, err := b.wait(ctx, renewing{command.Renewal{Node: "n1", Seq: uint64(i)}, urgent}); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if first != c.after {
				t.Errorf("%s: the first entry came after %v, want %v", c.what, first, c.after)
			}
			if want := 2 - int(c.after/time.Second); len(sizes) != want {
				t.Errorf("%s: entries of %v renewals, want %d entries", c.what, sizes, want)
			}
		})
	}
}
