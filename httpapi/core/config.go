package core

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/httpapi/advice"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/oidc"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/workload"
	"github.com/berth-gpu/berth/trust"
)

// Config is the peer that an API is over, and its environment.
type Config struct {
	Self    model.PeerID
	Version string
	Peer    Peer
	// Asks requires authentication, even if the state does not. If the state requires it, this
	// field has no effect.
	Asks  bool
	Terms Terms // at the start
	// Own are the addresses of this peer's API, "host:port", from its settings, and Hosts the other
	// names under which clients may address it. With authentication IP addresses pass, too.
	Own, Hosts []string
	// Prove returns the identity of the other side of a connection: agents must prove the node that they act for. nil: they
	// need not, in tests and simulations.
	Prove issue.Prove
	// Authority issues certificates. nil: this peer issues none.
	Authority issue.Authority
	// Judge returns why the certificate of a member is refused; nil: it counts. Without Judge all do.
	Judge func(leaf *x509.Certificate) error
	// Apart returns why this peer takes no part in its cluster, so that it answers no request; empty: it takes part. nil: it always does.
	Apart func() string
	// Sealing seals texts of users before they enter the log, and opens them; nil: they stay as they are.
	Sealing *sealing.Ring
	// Trusted returns what this peer trusts, and issues certificates with; nil: it makes no backups.
	Trusted func() (*trust.Material, error)
	// Probe returns an error unless the proof of a machine that joins is answered at its address. nil: none is checked.
	Probe func(ctx context.Context, address, proof string) error
	// Gossip returns what gossip says of a member, see wire.Node; nil: there is no gossip.
	Gossip func(role trust.Role, name string) string
	// Reach connects to the gossip of a member, and returns its address; empty: gossip does not know the member. Of this peer itself it
	// returns the address alone. nil: there is no gossip.
	Reach func(ctx context.Context, role trust.Role, name string) (address string, err error)
	// Expires returns when this peer's certificate expires; nil: it has none.
	Expires func() time.Time
	// Store returns figures of this peer's data folder; nil: there is none.
	Store func() (peer.Store, error)
	// Dial opens connections to agents.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Now  func() time.Time // nil: time.Now
	Log  *slog.Logger     // nil: none
	// Settings reads and changes the settings of the whole cluster.
	Settings port.Settings
	// Metrics are exposed in addition to the API's own.
	Metrics []prometheus.Collector
}

// Peer is the parts of a peer.
type Peer struct {
	Proposer  port.Proposer
	Reader    port.Reader
	Members   port.Members
	Telemetry *soft.Board
	Tails     *soft.Tails
	Beats     *soft.Beats
	Feed      *soft.Feed
	Archive   port.Archive
	Refusals  port.Refusals
	Reads     port.Refusals // of other users' data
	History   port.History
	Answers   *call.Server // answers the calls of other peers
	Calls     *call.Client // makes calls at other peers
}

// Terms are settings of an API that can change while it runs, see [API.TakeOver].
type Terms struct {
	// Keys are accepted in addition to tokens.
	Keys auth.Keys
	// Rate is how many requests a caller may make a second, and twice that at once, over all peers
	// together: each peer allows its part. A node's agent may make four times as many. Requests
	// without a known credential are counted by their address. 0: no limit. Other peers, open
	// routes and callers without authentication are not counted.
	Rate float64
	// Proxies may name the address that a request comes from.
	Proxies auth.Proxies
	Rules   intake.CommandRules
	// OIDC is the identity provider; nil: there is none.
	OIDC *oidc.Settings
	// Workloads are the defaults of workloads without other data; nil: the standard ones.
	Workloads workload.Defaults
	// Advisers are other services that are asked about workloads.
	Advisers []advice.Adviser
}

// readLimit bounds the wait until this peer is as new as required.
const readLimit = 5 * time.Second
