package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/trust"
)

// rumours are what gossip says of the other members. They are hints: a node is given up by its lease only.
type rumours struct {
	log   *slog.Logger
	heard atomic.Pointer[map[gossipKey]gossip.Member]
	again chan struct{} // receives after a restart with other keys

	mu     sync.Mutex
	config gossip.Config
	wanted [][]byte // keys
	gossip *gossip.Gossip
	down   bool // it could not be started with other keys
	closed bool
}

// gossipKey names a member.
type gossipKey struct {
	kind gossip.Kind
	id   string
}

// checkGossip checks the addresses of a member for gossip.
func (h *holding) checkGossip(section string, g config.Gossip) {
	for _, v := range []struct{ name, address string }{{section + ".gossip", g.GossipListen}, {section + ".advertise_gossip", g.GossipAdvertise}} {
		if v.address == "" {
			continue
		}
		if _, err := netip.ParseAddrPort(v.address); err != nil && v.name == section+".gossip" {
			h.refuse("%s: %q is not IP:port, such as 10.0.0.1:7002", h.At(v.name), v.address)
		} else if _, _, err := model.SplitHostPort(v.address); err != nil && v.name != section+".gossip" {
			h.refuse("%s: %w", h.At(v.name), err)
		}
	}
}

// startGossip announces a member to the others; nil: no address is set, the address has no IP address now, or the machine has no
// key. seeds are addresses of members, of any of their ports.
func startGossip(g config.Gossip, dir, cluster string, meta gossip.Meta, seeds []string, log *slog.Logger) (*rumours, error) {
	if g.GossipListen == "" {
		return nil, nil //nolint:nilnil // documented
	}
	m, err := trust.Load(dir)
	if err != nil {
		return nil, err
	}
	if len(m.Gossip) == 0 {
		log.Warn("no_gossip", "why", "this machine has no key of gossip", "remedy", "renew the certificate, or let this machine renew it (berth join peer or node, --renew)")
		return nil, nil //nolint:nilnil // documented
	}
	bind, err := netip.ParseAddrPort(g.GossipListen)
	if err != nil {
		return nil, err
	}
	c := gossip.Config{
		Name: meta.Kind.String() + "/" + meta.ID, Meta: meta, Keys: m.Gossip, Label: cluster, Bind: bind, Logger: log.With("part", "gossip"),
	}
	if g.GossipAdvertise != "" {
		at, err := net.ResolveUDPAddr("udp", g.GossipAdvertise)
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
	r := &rumours{log: log, config: c, again: make(chan struct{}, 1)}
	if r.gossip, err = gossip.Start(c); err != nil {
		return nil, err
	}
	r.note()
	return r, nil
}

// maxContacts is how many of the members that it has known gossip asks first after a restart.
const maxContacts = 8

// use has gossip use other keys. The protocol's library changes keys in use without a lock, so gossip is started again, which
// takes less time than the others need to find a member silent. Until that succeeds, there are no hints.
func (r *rumours) use(keys [][]byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.wanted = keys
	r.mu.Unlock()
	if !r.restart() {
		go func() {
			for !r.restart() {
				time.Sleep(restartPause)
			}
		}()
	}
}

// restartPause is the time between two tries to start gossip with other keys.
const restartPause = time.Second

// restart starts gossip with the keys that are wanted, and reports whether nothing is left to do.
func (r *rumours) restart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := r.wanted
	if r.closed || slices.EqualFunc(keys, r.config.Keys, bytes.Equal) {
		return true
	}
	next := r.config
	next.Keys = keys
	for _, m := range r.gossip.Members() {
		if m.State == gossip.StateAlive && m.Name != next.Name && len(next.Seeds) < len(r.config.Seeds)+maxContacts {
			next.Seeds = append(slices.Clip(next.Seeds), m.Addr.String())
		}
	}
	if err := r.gossip.Close(); err != nil {
		r.log.Warn("gossip_not_ended", "err", err)
	}
	started, err := gossip.Start(next)
	if r.down = err != nil; r.down {
		r.heard.Store(&map[gossipKey]gossip.Member{})
		r.log.Error("gossip_not_started", "err", err, "why", "the keys have changed", "remedy", "the next try follows; without gossip only hints of silence are missing")
		return false
	}
	next.Seeds = r.config.Seeds
	r.config, r.gossip = next, started
	r.log.Info("gossip_keys_changed", "keys", len(keys))
	select {
	case r.again <- struct{}{}:
	default:
	}
	return true
}

// current returns gossip as it runs now.
func (r *rumours) current() *gossip.Gossip {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gossip
}

// note keeps the present members.
func (r *rumours) note() {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := map[gossipKey]gossip.Member{}
	if !r.down {
		for _, m := range r.gossip.Members() {
			heard[gossipKey{m.Meta.Kind, m.Meta.ID}] = m
		}
	}
	r.heard.Store(&heard)
}

// watch follows the members until the context ends, and calls changed after each change.
func (r *rumours) watch(ctx context.Context, changed func()) {
	for {
		select {
		case <-r.current().Changed():
		case <-r.again:
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
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

// ping asks a member over TCP and UDP, and returns the address of its gossip; empty: gossip does not know the member.
func (r *rumours) ping(ctx context.Context, role trust.Role, name string) (address string, tcp, udp error) {
	kind, g := gossip.KindNode, r.current()
	if role == trust.RolePeer {
		kind = gossip.KindPeer
	}
	at, udp := g.Ping(ctx, kind.String()+"/"+name)
	switch {
	case !at.IsValid():
		return "", udp, udp
	case at == g.Addr():
		return at.String(), nil, nil
	}
	return at.String(), g.Knock(ctx, at), udp
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

// startGossip announces this peer.
func (s *service) startGossip() (err error) {
	seeds := slices.Clone(s.o.seeds)
	for _, f := range s.o.founders {
		seeds = append(seeds, f.Address)
	}
	s.rumours, err = startGossip(s.o.gossip, s.trustDir(), s.o.cluster, gossip.Meta{
		Kind: gossip.KindPeer, ID: string(s.o.id), RaftAddr: s.o.advertise, APIAddr: s.o.reached, Level: command.Level, Version: build.Version(),
	}, seeds, s.log)
	return explainGossip(s.o.gossip.GossipListen, err)
}

// explainGossip returns why gossip does not start.
func explainGossip(address string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: no gossip: %w; choose another address with server.gossip or agent.gossip (--gossip), or leave the setting out", address, err)
}
