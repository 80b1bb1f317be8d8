package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/trust"
)

// cluster makes certificates of one cluster.
func clusterOf(t *testing.T) func(role trust.Role, name string, revoked trust.Revoked) *trust.Credentials {
	t.Helper()
	founder, err := trust.Found(trust.Member{Name: "founder"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return func(role trust.Role, name string, revoked trust.Revoked) *trust.Credentials {
		m, err := founder.Certify(trust.Member{Role: role, Name: name}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c, err := trust.NewCredentials(m, time.Now, revoked)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// Members find one another by their certificates; one that goes silent is told apart from one that is alive. A member of another cluster,
// and one that the cluster does not know or has revoked, take no part.
func TestGossipOfMembers(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	ours, theirs := clusterOf(t), clusterOf(t)
	start := func(c *trust.Credentials, admit func(string) bool, kind gossip.Kind, id string) *rumours {
		t.Helper()
		r, err := startGossip(config.Gossip{GossipListen: "127.0.0.1:0"}, c, gossip.Meta{Kind: kind, ID: id, APIAddr: id + ":10000"}, nil, admit, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.close() })
		return r
	}
	revoked := func(i trust.Identity, _ time.Time) bool { return i.Name == "gpu3" }
	p1 := start(ours(trust.RolePeer, "p1", revoked), func(name string) bool { return name != "node/gpu4" }, gossip.KindPeer, "p1")
	at := []string{p1.gossip.Addr().String()}
	for name, c := range map[string]*trust.Credentials{
		"gpu2": theirs(trust.RoleNode, "gpu2", nil), "gpu3": ours(trust.RoleNode, "gpu3", nil),
		"gpu4": ours(trust.RoleNode, "gpu4", nil),
	} {
		r := start(c, nil, gossip.KindNode, name)
		if _, err := r.gossip.Join(t.Context(), at); err == nil || len(r.gossip.Members()) > 1 {
			t.Errorf("%s joins: %v", name, r.gossip.Members())
		}
	}
	gpu1 := start(ours(trust.RoleNode, "gpu1", nil), nil, gossip.KindNode, "gpu1")
	if _, err := gpu1.gossip.Join(t.Context(), at); err != nil {
		t.Errorf("gpu1 joins: %v", err)
	}
	for len(p1.gossip.Members()) < 2 { // a join ends before the other side has taken it over
		<-p1.gossip.Changed()
	}
	p1.note()
	gpu1.note()
	if len(*p1.heard.Load()) != 2 || p1.state(trust.RoleNode, "gpu1") != "alive" || p1.silent("gpu1") || strings.Join(gpu1.peers(), " ") != "p1:10000" {
		t.Errorf("the peer has heard %v", *p1.heard.Load())
	}
	if address, err := p1.reach(t.Context(), trust.RoleNode, "gpu1"); err != nil || address != gpu1.gossip.Addr().String() {
		t.Errorf("gpu1 at %q: %v", address, err)
	}
	silent := map[gossipKey]gossip.Member{{gossip.KindNode, "gpu1"}: {State: gossip.StateSilent}}
	p1.heard.Store(&silent)
	if p1.state(trust.RoleNode, "gpu1") != "silent" || !p1.silent("gpu1") || p1.silent("gpu9") {
		t.Error("a silent node is not told")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(p1)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "berth_gossip_members" || len(families[0].GetMetric()) != 1 {
		t.Errorf("%v, %v", families, err)
	}
	if r, err := startGossip(config.Gossip{}, nil, gossip.Meta{}, nil, nil, log); r != nil || err != nil {
		t.Errorf("without an address: %v, %v", r, err)
	}
}
