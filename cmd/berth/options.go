package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi"
)

// options are what a server runs with.
type options struct {
	data      string
	id        model.PeerID
	listen    string
	advertise string
	http      string           // where the API is
	founders  []cluster.Server // empty: this peer founds no cluster
	seeds     []string         // addresses to join at; empty: this peer joins none
	cluster   string           // empty: what the data folder or the join says
	timeouts  cluster.Timeouts
	level     slog.Level
	minFree   uint64 // bytes; 0: the store's default

	parts
}

// parts is what is only handed on to the peer's parts.
type parts struct {
	shared config.Cluster
	audit  archive.Rotation
	api    apiOptions
}

// apiOptions are what the API goes by.
type apiOptions struct {
	asks  bool
	terms httpapi.Terms
}

// resolve holds a peer's settings against each other. Its errors are usage errors.
func resolve(c *config.Loaded) (options, error) {
	s := &c.Server
	o := options{
		data: s.DataDir, id: model.PeerID(s.ID), listen: s.Listen, advertise: cmp.Or(s.Advertise, s.Listen), http: s.HTTP,
		cluster: s.ClusterID, seeds: s.Join, minFree: s.MinFree << 20, timeouts: timeouts(s.Timeouts), level: c.Level,
		parts: parts{shared: c.Cluster, audit: archive.Rotation{Dir: s.Audit.Dir, Size: s.Audit.MiB << 20, Keep: s.Audit.Keep}},
	}
	switch {
	case o.data == "":
		return o, usage("%s is missing: name the folder where this peer keeps its state", c.At("server.data_dir"))
	case !model.Name(s.ID):
		return o, usage("%s is missing or unfit: name this peer in 1 to 128 bytes of text, as in the founders' list", c.At("server.id"))
	case len(s.Bootstrap) > 0 && len(s.Join) > 0:
		return o, usage("%s founds a cluster and %s enters one: give one of them", c.At("server.bootstrap"), c.At("server.join"))
	case o.cluster != "" && !model.Name(o.cluster):
		return o, usage("%s must be a name of at most 128 bytes", c.At("server.cluster_id"))
	}
	var err error
	if o.api, err = resolveAPI(c); err != nil {
		return o, err
	}
	if err := o.checkAddresses(c); err != nil {
		return o, err
	}
	if len(s.Bootstrap) == 0 {
		return o, nil
	}
	return o, o.found(s.Bootstrap, c)
}

// termsNames are the settings that the API's terms are read from.
var termsNames = []string{
	"auth.keys_file", "auth.api_keys", "auth.header_name", "auth.rate_limit", "auth.command_rules",
	"workloads.defaults_file", "workloads.defaults", "services.deepagents_url", "services.graph_service_url",
}

// resolveAPI reads whom the API lets in, what jobs may run, and what is known of workloads.
func resolveAPI(c *config.Loaded) (o apiOptions, err error) {
	s := &c.Server.Auth
	for _, v := range []struct{ name, given string }{
		{"auth.keys_file", s.Keys}, {"auth.api_keys", s.Own}, {"auth.header_name", s.Header},
	} {
		switch said := c.Origin("auth.enabled").Layer != config.FromDefault; {
		case v.given == "" || s.On:
		case said:
			c.Notes = append(c.Notes, c.At(v.name)+" counts only while callers are asked who they are, and "+c.At("auth.enabled")+" is false")
		default:
			return o, usage("%s needs %s: without it nobody is asked for a key", c.At(v.name), c.At("auth.enabled"))
		}
	}
	if o.terms, err = resolveAdvice(c); err != nil {
		return o, err
	}
	o.asks, o.terms.Rate = s.On, float64(s.Rate)
	if o.terms.Keys, err = resolveKeys(c); err != nil {
		return o, err
	}
	if s.CommandRules != "" {
		if o.terms.Rules, err = readRules(s.CommandRules); err != nil {
			return o, usage("%s: %w", c.At("auth.command_rules"), err)
		}
	}
	return o, nil
}

func timeouts(name string) cluster.Timeouts {
	if name == "wan" {
		return cluster.WAN
	}
	return cluster.LAN
}

func (o *options) checkAddresses(c *config.Loaded) error {
	for _, v := range []struct{ name, address string }{{"server.listen", o.listen}, {"server.advertise", o.advertise}} {
		if err := onLoopback(v.address); err != nil {
			return usage("%s: %w", c.At(v.name), err)
		}
	}
	if err := onLoopback(o.http); err != nil && !o.api.asks {
		return usage("%s: %w; or have callers asked who they are, with --auth", c.At("server.http"), err)
	} else if _, _, bad := net.SplitHostPort(o.http); bad != nil {
		return usage("%s: %q is not host:port, such as %s", c.At("server.http"), o.http, config.DefaultHTTP)
	}
	if o.http == o.listen {
		return usage("%s and %s are the same address: give the API another, such as %s", c.At("server.http"), c.At("server.listen"),
			config.DefaultHTTP)
	}
	for _, address := range o.seeds {
		if err := onLoopback(address); err != nil {
			return usage("%s: %w", c.At("server.join"), err)
		}
	}
	return nil
}

// found reads the founders' list. The cluster's id follows from it, so that all
// founders come to the same without asking each other.
func (o *options) found(list []string, c *config.Loaded) error {
	here := c.At("server.bootstrap")
	for _, entry := range list {
		id, address, ok := strings.Cut(entry, "=")
		if !ok || !model.Name(id) {
			return usage("%s: %q is not id=address", here, entry)
		}
		if err := onLoopback(address); err != nil {
			return usage("%s: peer %s: %w", here, id, err)
		}
		for _, other := range o.founders {
			if string(other.ID) == id || other.Address == address {
				return usage("%s: peers %s and %s share an id or an address", here, other.ID, id)
			}
		}
		o.founders = append(o.founders, cluster.Server{ID: model.PeerID(id), Address: address})
	}
	self := cluster.Server{ID: o.id, Address: o.advertise}
	if !slices.Contains(o.founders, self) {
		return usage("%s does not list this peer as %s=%s: add it, or correct %s or %s", here, self.ID, self.Address,
			c.At("server.id"), c.At("server.advertise"))
	}
	if o.cluster == "" {
		o.cluster = clusterOf(o.founders)
	}
	return nil
}

// clusterOf derives a cluster's id from its founders, in whatever order they are
// listed.
func clusterOf(founders []cluster.Server) string {
	lines := make([]string, 0, len(founders))
	for _, s := range founders {
		lines = append(lines, fmt.Sprintf("%s=%s\n", s.ID, s.Address))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:16])
}

// onLoopback refuses every address that another machine could reach: what peers
// say to each other is not encrypted yet, and whoever reaches a peer's listener
// can take its log over. The API may be elsewhere if it asks who somebody is.
func onLoopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || port == "0" {
		return fmt.Errorf("%q is not host:port with a port of its own, such as 127.0.0.1:7000", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s can be reached from other machines, and connections between peers are not encrypted yet: "+
			"use a loopback address such as 127.0.0.1:%s", address, port)
	}
	return nil
}
