package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi"
)

// flags are a server's flags as they were given.
type flags struct {
	data, id                    string
	listen, advertise, http     string
	bootstrap, join             []string
	cluster, timeouts, logLevel string
	minFree                     uint64 // MiB
	api                         apiFlags
}

// apiFlags are those of what the API takes, and what is written down of it.
type apiFlags struct {
	idleStop               time.Duration
	auth                   bool
	authKeys, commandRules string
	rate                   float64
	advice                 adviceFlags
	audit                  archive.Rotation
	auditSize              int64 // MiB
}

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
	api       apiOptions
}

// apiOptions are what the API takes, from whom, and where it is written down.
type apiOptions struct {
	idleStop time.Duration
	access   httpapi.Access
	rules    httpapi.CommandRules
	advice   advice
	audit    archive.Rotation
}

// resolve checks the flags against each other. Its errors are usage errors.
func (f *flags) resolve() (options, error) {
	o := options{
		data: f.data, id: model.PeerID(f.id), listen: f.listen, advertise: f.advertise, http: f.http, cluster: f.cluster,
		seeds: f.join, minFree: f.minFree << 20,
	}
	switch {
	case o.data == "":
		return o, usage("--data-dir is missing: name the folder where this peer keeps its state")
	case !model.Name(f.id):
		return o, usage("--id is missing or unfit: name this peer in 1 to 128 bytes of text, as in the founders' list")
	case len(f.bootstrap) > 0 && len(f.join) > 0:
		return o, usage("--bootstrap founds a cluster and --join enters one: give one of them")
	case o.cluster != "" && !model.Name(o.cluster):
		return o, usage("--cluster must be a name of at most 128 bytes")
	}
	var err error
	if o.api, err = f.api.resolve(); err != nil {
		return o, err
	}
	if o.advertise == "" {
		o.advertise = o.listen
	}
	if err := o.checkAddresses(); err != nil {
		return o, err
	}
	if err := o.resolveNames(f); err != nil {
		return o, err
	}
	if len(f.bootstrap) == 0 {
		return o, nil
	}
	return o, o.found(f.bootstrap)
}

// resolve reads whom the API lets in, and what jobs may run.
func (f *apiFlags) resolve() (o apiOptions, err error) {
	switch {
	case f.idleStop != 0 && (f.idleStop < model.MinIdleStop || f.idleStop > model.MaxDuration):
		return o, usage("--idle-stop must be 0, or at least %s", model.MinIdleStop)
	case f.authKeys != "" && !f.auth:
		return o, usage("--auth-keys needs --auth: without it nobody is asked for a key")
	case !(f.rate >= 0 && f.rate <= 1e6): // nor what is no number
		return o, usage("--rate-limit must be 0 to 1000000 requests a second")
	case f.audit.Dir != "" && (f.auditSize < 1 || f.auditSize > 1<<20 || f.audit.Keep < 1):
		return o, usage("--audit-size must be 1 to %d MiB, and --audit-keep at least 1", 1<<20)
	}
	o.audit = archive.Rotation{Dir: f.audit.Dir, Size: f.auditSize << 20, Keep: f.audit.Keep}
	if o.advice, err = f.advice.resolve(os.Getenv); err != nil {
		return o, err
	}
	o.idleStop, o.access.Asks, o.access.Rate = f.idleStop, f.auth, f.rate
	if f.authKeys != "" {
		if o.access.Keys, err = readKeys(f.authKeys); err != nil {
			return o, err
		}
	}
	if f.commandRules != "" {
		o.rules, err = readRules(f.commandRules)
	}
	return o, err
}

// resolveNames reads the flags whose values are names.
func (o *options) resolveNames(f *flags) error {
	switch strings.ToLower(f.timeouts) {
	case "lan":
		o.timeouts = cluster.LAN
	case "wan":
		o.timeouts = cluster.WAN
	default:
		return usage("--raft-timeouts must be lan or wan, not %q", f.timeouts)
	}
	if err := o.level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usage("--log-level must be debug, info, warn or error, not %q", f.logLevel)
	}
	return nil
}

func (o *options) checkAddresses() error {
	if err := onLoopback(o.listen); err != nil {
		return usage("--listen: %w", err)
	}
	if err := onLoopback(o.advertise); err != nil {
		return usage("--advertise: %w", err)
	}
	if err := onLoopback(o.http); err != nil && !o.api.access.Asks {
		return usage("--http: %w; or have callers asked who they are, with --auth", err)
	} else if _, _, bad := net.SplitHostPort(o.http); bad != nil {
		return usage("--http: %q is not host:port, such as %s", o.http, defaultHTTP)
	}
	if o.http == o.listen {
		return usage("--http and --listen are the same address: give the API another, such as %s", defaultHTTP)
	}
	for _, address := range o.seeds {
		if err := onLoopback(address); err != nil {
			return usage("--join: %w", err)
		}
	}
	return nil
}

// found reads the founders' list. The cluster's id follows from it, so that all
// founders come to the same without asking each other.
func (o *options) found(list []string) error {
	for _, entry := range list {
		id, address, ok := strings.Cut(entry, "=")
		if !ok || !model.Name(id) {
			return usage("--bootstrap: %q is not id=address", entry)
		}
		if err := onLoopback(address); err != nil {
			return usage("--bootstrap: peer %s: %w", id, err)
		}
		for _, other := range o.founders {
			if string(other.ID) == id || other.Address == address {
				return usage("--bootstrap: peers %s and %s share an id or an address", other.ID, id)
			}
		}
		o.founders = append(o.founders, cluster.Server{ID: model.PeerID(id), Address: address})
	}
	self := cluster.Server{ID: o.id, Address: o.advertise}
	if !slices.Contains(o.founders, self) {
		return usage("--bootstrap does not list this peer as %s=%s: add it, or correct --id or --advertise", self.ID, self.Address)
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

// defaultHTTP is where the API is unless somebody says otherwise.
const defaultHTTP = "127.0.0.1:10000"

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
