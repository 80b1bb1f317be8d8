package main

import (
	"log/slog"
	"net"
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
	for len(p1.gossip.Members()) < 2 { // a join ends before the other side has taken it over
		<-p1.gossip.Changed()
	}
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

// Gossip goes on with other keys, and is tried again while it cannot be started with them; meanwhile there are no hints.
func TestGossipWithOtherKeys(t *testing.T) {
	t.Parallel()
	m, err := trust.Found(trust.Member{Name: "p1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trust")
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.LocalAddr().String()
	_ = free.Close()
	r, err := startGossip(config.Gossip{GossipListen: address}, dir, "c", gossip.Meta{Kind: gossip.KindPeer, ID: "p1"}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.close() })
	before := r.current()
	r.use(m.Gossip)
	if r.current() != before {
		t.Error("gossip was started again with the same keys")
	}
	next := [][]byte{trust.NewGossipKey(), m.Gossip[0]}
	r.use(next)
	if r.note(); r.current() == before || r.state(trust.RolePeer, "p1") != "alive" {
		t.Errorf("with other keys: %v", *r.heard.Load())
	}
	_ = r.current().Close()
	taken, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	r.use(next[:1])
	if r.note(); len(*r.heard.Load()) != 0 {
		t.Errorf("while the port is taken, the others are %v", *r.heard.Load())
	}
	_ = taken.Close()
	select {
	case <-r.again: // of the first change
	default:
	}
	<-r.again
	if r.note(); r.state(trust.RolePeer, "p1") != "alive" {
		t.Errorf("once the port is free: %v", *r.heard.Load())
	}
}
