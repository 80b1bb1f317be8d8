package bench

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/trust"
)

// secure measures submissions over TLS and in plain text, in turn. Peers speak TLS to each other in both cases.
func (r *runner) secure(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Submissions over TLS, and in plain text on loopback: medians of %d runs of %s", r.Runs, r.Time),
		Head: []string{
			"clients", "plain, a second", "TLS", "least to most of the ratios", "ratio", "plain, p50", "TLS", "plain, CPU each", "TLS", "refused",
		},
	}
	return out, r.compare(ctx, out, "tls", way{secure: true})
}

// dial opens connections of clients; nil: plain text.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// secureDial returns what connects to the peers of a cluster as users on other machines do.
func secureDial(c *devcluster.Cluster) (dial, error) {
	known, err := c.Authorities()
	if err != nil {
		return nil, err
	}
	config := trust.Visitor(trust.Known{Authorities: known}, time.Now, nil)
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		return trust.Dial(ctx, nil, address, config)
	}, nil
}
