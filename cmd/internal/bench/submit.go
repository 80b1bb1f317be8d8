package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// submit measures submissions: clients that each send one after the other, to any
// peer in turn, and to the leader only.
func (r *runner) submit(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Submissions over HTTP: median of %d runs of %s", r.Runs, r.Time),
		Head:  []string{"clients", "sent to", "a second", "lowest", "highest", "p50", "p99", "CPU each", "refused"},
	}
	for _, clients := range r.Clients {
		for _, target := range []string{"any peer", "the leader"} {
			if err := r.submitPoint(ctx, out, clients, target); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (r *runner) submitPoint(ctx context.Context, out *figures.Table, clients int, target string) error {
	var rates []float64
	var all []time.Duration
	var cpu time.Duration
	done, refused := 0, 0
	for n := range r.Runs {
		r.say("submit: %d clients to %s, run %d of %d", clients, target, n+1, r.Runs)
		l, err := r.submitRun(ctx, clients, target == "the leader", way{})
		if err != nil {
			return err
		}
		rates = append(rates, float64(len(l.latencies))/r.Time.Seconds())
		all = append(all, l.latencies...)
		done, refused, cpu = done+len(l.latencies), refused+l.refused, cpu+l.cpu
	}
	median, least, most := figures.Spread(rates)
	out.Add(fmt.Sprint(clients), target, figures.Count(median), figures.Count(least), figures.Count(most),
		figures.At(all, 50), figures.At(all, 99), fmt.Sprintf("%d µs", cpu.Microseconds()/int64(max(1, done))), fmt.Sprint(refused))
	return nil
}

// load is what clients have measured.
type load struct {
	latencies []time.Duration
	refused   int
	cpu       time.Duration // of all processes
}

// way is how clients submit.
type way struct {
	asked  bool // the cluster authenticates them
	secure bool // over TLS
}

func (r *runner) submitRun(ctx context.Context, clients int, leaderOnly bool, how way) (_ *load, err error) {
	set := devcluster.Config{}
	if how.asked {
		if set, err = guarded(r.Dir); err != nil {
			return nil, err
		}
	}
	c, err := r.clusterOf(ctx, set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end(c)) }()
	addresses := c.Addresses()
	if leaderOnly {
		addresses = []string{addressOf(c, c.Leader(ctx))}
	}
	o := client.Options{}
	if how.secure {
		if o.Dial, err = secureDial(c); err != nil {
			return nil, err
		}
	}
	if _, err := drive(ctx, addresses, clients, how.asked, o, r.Warm); err != nil {
		return nil, err
	}
	before := processorTime(c.Members())
	l, err := drive(ctx, addresses, clients, how.asked, o, r.Time)
	if err != nil {
		return nil, err
	}
	l.cpu = processorTime(c.Members()) - before
	return l, nil
}

func addressOf(c *devcluster.Cluster, name string) string {
	for _, m := range c.Members() {
		if m.Name == name {
			return m.Address
		}
	}
	return c.Addresses()[0]
}

// drive runs clients that submit for a while, each one job after the other, with a key of their own
// if the cluster authenticates.
func drive(ctx context.Context, addresses []string, clients int, asked bool, o client.Options, d time.Duration) (*load, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	results := make([]load, clients)
	var work sync.WaitGroup
	for i := range clients {
		o.Addresses = []string{addresses[i%len(addresses)]}
		if asked {
			o.Token = keyOf(userOf(i))
		}
		api, err := client.New(o)
		if err != nil {
			return nil, err
		}
		work.Go(func() { submitUntil(ctx, api, i, &results[i]) })
	}
	work.Wait()
	total := &load{}
	for i := range results {
		total.latencies = append(total.latencies, results[i].latencies...)
		total.refused += results[i].refused
	}
	if len(total.latencies) == 0 && total.refused > 0 {
		return nil, fmt.Errorf("all %d submissions were refused", total.refused)
	}
	return total, nil
}

func submitUntil(ctx context.Context, api *client.Client, i int, out *load) {
	defer api.Close()
	job := oneLine(userOf(i))
	for ctx.Err() == nil {
		began := time.Now()
		_, err := api.Submit(ctx, job, "")
		switch {
		case err == nil:
			out.latencies = append(out.latencies, time.Since(began))
		case ctx.Err() == nil:
			out.refused++
		}
	}
}

// oneLine returns a job of one line that asks for one GPU.
func oneLine(user string) *wire.Submit {
	one := int64(1)
	return &wire.Submit{User: user, Command: "true", GPUs: &one}
}
