package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/httpapi/client"
)

// failover measures how long no submission succeeds when the leader is killed: from kill -9 to the
// first submission that a survivor acknowledges. The client asks the survivors only, and never
// waits between two tries. In every second trial the client speaks TLS.
func (r *runner) failover(ctx context.Context) (_ *figures.Table, err error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Failover: kill -9 of the leader to the first accepted submission, %d trials", r.Trials),
		Head:  []string{"client", "trials", "least", "p50", "p99", "most"},
	}
	c, err := r.cluster(ctx, 0, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end(c)) }()
	over, err := secureDial(c)
	if err != nil {
		return nil, err
	}
	names, dials := [2]string{"plain text", "TLS"}, [2]dial{nil, over}
	var all [2][]time.Duration
	for n := range r.Trials {
		i := n % 2 // in turn
		took, err := r.failoverOnce(ctx, c, dials[i])
		if err != nil {
			return nil, err
		}
		r.say("failover: trial %d of %d, %s, %s", n+1, r.Trials, names[i], figures.Millis(took))
		all[i] = append(all[i], took)
	}
	for i, took := range all {
		if len(took) > 0 {
			out.Add(names[i], fmt.Sprint(len(took)), figures.At(took, 0), figures.At(took, 50), figures.At(took, 99), figures.At(took, 100))
		}
	}
	return out, nil
}

func (r *runner) failoverOnce(ctx context.Context, c *devcluster.Cluster, over dial) (time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.Ready(limited); err != nil {
		return 0, err
	}
	leader := c.Leader(limited)
	if leader == "" {
		return 0, errors.New("there is no leader")
	}
	var survivors []string
	for _, m := range c.Members() {
		if m.Name != leader {
			survivors = append(survivors, m.Address)
		}
	}
	api, err := client.New(client.Options{Addresses: survivors, Dial: over})
	if err != nil {
		return 0, err
	}
	defer api.Close()
	if _, err := api.Submit(limited, oneLine("bench"), ""); err != nil {
		return 0, err
	}
	if err := c.Kill(leader); err != nil {
		return 0, err
	}
	died := time.Now()
	for {
		if _, err := api.Submit(limited, oneLine("bench"), ""); err == nil {
			return time.Since(died), nil
		}
		if limited.Err() != nil {
			return 0, fmt.Errorf("no peer took over: %w", limited.Err())
		}
	}
}
