package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/trust"
)

// rumours are what gossip says of the other members. They are hints: a node is given up by its lease only, and no address that gossip
// names is asked before those that the settings and the cluster have given.
type rumours struct {
	gossip *gossip.Gossip
	heard  atomic.Pointer[map[gossipKey]gossip.Member]
}

// gossipKey names a member.
type gossipKey struct {
	kind gossip.Kind
	id   string
}

// startGossip announces a member to the others; nil: no address is set, or the address has no IP address now. seeds are addresses of
// members, of any of their ports. admit reports whether a member takes part; nil: each with a certificate does.
func startGossip(g config.Gossip, credentials *trust.Credentials, meta gossip.Meta, seeds []string, admit func(string) bool,
	log *slog.Logger,
) (*rumours, error) {
	if g.GossipListen == "" {
		return nil, nil //nolint:nilnil // documented
	}
	bind, err := netip.ParseAddrPort(g.GossipListen)
	if err != nil {
		return nil, err
	}
	c := gossip.Config{
		Meta: meta, Network: trust.Members{Credentials: credentials, Open: cli.DialPlain}, Admit: admit, Bind: bind, Logger: log.With("part", "gossip"),
	}
	if g.GossipAdvertise != "" {
		at, err := net.ResolveTCPAddr("tcp", g.GossipAdvertise)
		if err != nil { // gossip gives hints only, and a name server may be late
			log.Warn("no_gossip", "why", "the address cannot be resolved", "address", g.GossipAdvertise, "err", err, "remedy", "start again once the name has an address, or advertise an IP address")
			return nil, nil //nolint:nilnil // documented
		}
		c.Advertise = at.AddrPort()
	}
	for _, seed := range seeds {
		if host, _, err := net.SplitHostPort(seed); err == nil {
			c.Seeds = append(c.Seeds, net.JoinHostPort(host, strconv.Itoa(int(bind.Port()))))
		}
	}
	slices.Sort(c.Seeds)
	c.Seeds = slices.Compact(c.Seeds)
	r := &rumours{}
	if r.gossip, err = gossip.Start(c); err != nil {
		return nil, err
	}
	r.note()
	return r, nil
}

// note keeps the present members.
func (r *rumours) note() {
	heard := map[gossipKey]gossip.Member{}
	for _, m := range r.gossip.Members() {
		heard[gossipKey{m.Meta.Kind, m.Meta.ID}] = m
	}
	r.heard.Store(&heard)
}

// watch follows the members until the context ends, and calls changed after each change.
func (r *rumours) watch(ctx context.Context, changed func()) {
	for {
		select {
		case <-r.gossip.Changed():
		case <-ctx.Done():
			return
		}
		r.note()
		changed()
	}
}

// close ends gossip without a message to the others: whether a member is gone for good is not known here.
func (r *rumours) close() error {
	if r == nil {
		return nil
	}
	return r.gossip.Close()
}

// silent reports whether a node does not answer the probes of others.
func (r *rumours) silent(id model.NodeID) bool {
	m, found := (*r.heard.Load())[gossipKey{gossip.KindNode, string(id)}]
	return found && m.State == gossip.StateSilent
}

// state returns what gossip says of a member: alive, silent or left; empty: it does not know the member.
func (r *rumours) state(role trust.Role, name string) string {
	kind := gossip.KindNode
	if role == trust.RolePeer {
		kind = gossip.KindPeer
	}
	if m, found := (*r.heard.Load())[gossipKey{kind, name}]; found {
		return m.State.String()
	}
	return ""
}

// reach connects to the gossip of a member, and returns its address; empty: gossip does not know the member.
func (r *rumours) reach(ctx context.Context, role trust.Role, name string) (address string, err error) {
	kind := gossip.KindNode
	if role == trust.RolePeer {
		kind = gossip.KindPeer
	}
	at, err := r.gossip.Reach(ctx, gossip.NameOf(kind, name))
	if !at.IsValid() {
		return "", err
	}
	return at.String(), err
}

// peers returns the addresses of the API of the peers that are alive.
func (r *rumours) peers() (list []string) {
	for key, m := range *r.heard.Load() { // order-free: the list is sorted
		if key.kind == gossip.KindPeer && m.State == gossip.StateAlive && m.Meta.APIAddr != "" {
			list = append(list, m.Meta.APIAddr)
		}
	}
	slices.Sort(list)
	return list
}

var gossipMembers = prometheus.NewDesc("berth_gossip_members", "Members of the cluster by what gossip says of them: alive, silent or left.", []string{"kind", "state"}, nil)

// Describe sends the description of the metric.
func (r *rumours) Describe(to chan<- *prometheus.Desc) { to <- gossipMembers }

// Collect sends the numbers of members.
func (r *rumours) Collect(to chan<- prometheus.Metric) {
	counts := map[[2]string]int{}
	for key, m := range *r.heard.Load() { // order-free: sums
		counts[[2]string{key.kind.String(), m.State.String()}]++
	}
	for labels, n := range counts { // order-free: the registry sorts
		to <- prometheus.MustNewConstMetric(gossipMembers, prometheus.GaugeValue, float64(n), labels[0], labels[1])
	}
}

// explainGossip returns why gossip does not start.
func explainGossip(address string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: no gossip: %w; choose another address with server.gossip or agent.gossip (--gossip), or leave the setting out", address, err)
}
