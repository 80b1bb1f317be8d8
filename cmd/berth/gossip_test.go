package main

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/trust"
)

// Members with the key of their cluster find one another; one that goes silent is told apart from one that is alive. A
// member of another cluster with the same key, and one without a key, take no part.
func TestGossipOfMembers(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	m, err := trust.Found(trust.Member{Name: "p1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "p1")
	if err := trust.Save(own, m); err != nil {
		t.Fatal(err)
	}
	start := func(cluster string, kind gossip.Kind, id string, seeds ...string) *rumours {
		t.Helper()
		r, err := startGossip(config.Gossip{GossipListen: "127.0.0.1:0"}, own, cluster, gossip.Meta{Kind: kind, ID: id, APIAddr: id + ":10000"}, nil, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.close() })
		if len(seeds) > 0 {
			if _, err := r.gossip.Join(t.Context(), seeds); (err != nil) != (cluster == "other") {
				t.Errorf("%s joins: %v", id, err)
			}
		}
		return r
	}
	p1 := start("c", gossip.KindPeer, "p1")
	at := p1.gossip.Addr().String()
	start("c", gossip.KindNode, "gpu1", at)
	start("other", gossip.KindNode, "gpu2", at)
	p1.note()
	if p1.state(trust.RoleNode, "gpu1") != "alive" || p1.silent("gpu1") || p1.state(trust.RoleNode, "gpu2") != "" || strings.Join(p1.peers(), " ") != "p1:10000" {
		t.Errorf("the peer has heard %v", *p1.heard.Load())
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
	if r, err := startGossip(config.Gossip{}, own, "c", gossip.Meta{}, nil, log); r != nil || err != nil {
		t.Errorf("without an address: %v, %v", r, err)
	}
	m.Gossip = nil
	keyless := filepath.Join(dir, "p2")
	if err := trust.Save(keyless, m); err != nil {
		t.Fatal(err)
	}
	if r, err := startGossip(config.Gossip{GossipListen: netip.MustParseAddrPort("127.0.0.1:1").String()}, keyless, "c", gossip.Meta{}, nil, log); r != nil || err != nil {
		t.Errorf("without a key: %v, %v", r, err)
	}
}
