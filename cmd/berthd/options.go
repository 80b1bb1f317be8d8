package main

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cmd/internal/access"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/endpoint"
)

// options are the checked settings of a server.
type options struct {
	data      string
	id        model.PeerID
	listen    string
	advertise string
	http      string        // address that the API listens on
	reached   string        // address under which others reach the API
	gossip    config.Gossip // addresses for gossip; empty: none
	sealing   string        // file of the keys by which texts of users are sealed
	publicURL string        // under which users reach the API; empty: by the address
	public    [2]string     // files of a certificate and its key, for clients of the API; empty: the cluster's own
	founders  []peer.Server // empty: this peer founds no cluster
	seeds     []string      // addresses to join at; empty: this peer joins none
	cluster   string        // of the certificate
	timeouts  cluster.Timeouts
	minFree   uint64        // bytes; 0: the store's default
	hold      time.Duration // of the feature level

	parts
}

// parts are settings that are passed on to the peer's parts.
type parts struct {
	shared config.Cluster
	audit  archive.Rotation
	backup backup.Schedule
	api    apiOptions
}

// apiOptions are the settings of the API.
type apiOptions struct {
	asks  bool
	terms core.Terms
	hosts []string // other names of the API
}

// holding checks settings against each other and collects the errors.
type holding struct {
	*config.Loaded

	part   bool           // only the settings of a start: those that are not given may come from another source
	reader *config.Reader // of files with secrets; nil: this process
	wrong  []error
}

// secret reads a file with secrets.
func (h *holding) secret(path string) ([]byte, error) {
	reader := config.OfMember()
	if h.reader != nil {
		reader = *h.reader
	}
	return reader.Read(path)
}

// refuse adds a usage error.
func (h *holding) refuse(format string, args ...any) {
	h.wrong = append(h.wrong, cmdline.Usage(format, args...))
}

// open reports whether another value than the present one may apply to a setting.
func (h *holding) open(name string) bool {
	return h.Unread(name) || h.part && h.Origin(name).Layer == config.FromDefault
}

// resolve checks a peer's settings against each other. Its error joins a usage error for each
// contradiction.
func resolve(c *config.Loaded) (options, error) {
	h := &holding{Loaded: c}
	o := h.peer()
	return o, errors.Join(h.wrong...)
}

func (h *holding) peer() options {
	s := &h.Server
	o := options{
		data: s.DataDir, id: model.PeerID(s.ID), listen: s.Listen, advertise: cmp.Or(s.Advertise, s.Listen), http: s.HTTP,
		reached: cmp.Or(s.AdvertiseHTTP, s.HTTP), public: [2]string{s.Certificate, s.Key}, publicURL: strings.TrimSuffix(s.PublicURL, "/"),
		gossip: s.Gossip,
		seeds:  s.Join, minFree: s.MinFree << 20, hold: s.LevelHold, timeouts: timeouts(s.Timeouts),
		parts: parts{shared: h.Cluster, audit: archive.Rotation{Dir: s.Audit.Dir, Size: s.Audit.MiB << 20, Keep: s.Audit.Keep}},
	}
	if o.data == "" && !h.open("server.data_dir") {
		h.refuse("%s is missing: give the folder for the peer's state", h.At("server.data_dir"))
	}
	if !model.Name(s.ID) && !h.open("server.id") {
		h.refuse("%s is missing or not valid: give this peer a name of 1 to 128 bytes of text, as in the founders' list", h.At("server.id"))
	}
	if len(s.Bootstrap) > 0 && len(s.Join) > 0 {
		h.refuse("%s founds a cluster and %s joins one: give one of them", h.At("server.bootstrap"), h.At("server.join"))
	}
	o.api = h.terms()
	h.backups(&o.backup)
	h.secrets(&o)
	h.checkGossip("server", s.Gossip)
	h.addresses(&o)
	if len(s.Bootstrap) > 0 {
		o.founders = h.founders(&o)
	}
	return o
}

// secrets reads where the keys are by which texts of users are sealed.
func (h *holding) secrets(o *options) {
	data := filepath.Clean(o.data)
	o.sealing = h.Server.SealingFile()
	if inside, err := filepath.Rel(data, filepath.Clean(o.sealing)); err == nil && o.data != "" && inside != ".." && !strings.HasPrefix(inside, "../") {
		h.refuse("%s: %s is in the data folder, whose content this key protects: name a file elsewhere, best on another disk", h.At("server.secrets_key"), o.sealing)
	}
}

// backups reads the settings of backups.
func (h *holding) backups(k *backup.Schedule) {
	s := &h.Server.Backup
	k.Dir, k.Every, k.Keep = s.Dir, s.Every, s.Keep
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		h.refuse("%s: %q is not an absolute path", h.At("backup.dir"), s.Dir)
	}
	var err error
	if k.Seal, err = backup.ForRecipients(s.Recipients...); err != nil {
		h.refuse("%s: %w", h.At("backup.recipients"), err)
	}
}

// termsNames are the settings that the API's terms are read from.
var termsNames = []string{
	"auth.keys_file", "auth.api_keys", "auth.header_name", "auth.rate_limit", "auth.command_rules", "server.trusted_proxies",
	"workloads.defaults_file", "workloads.defaults", "services.deepagents_url", "services.graph_service_url",
	"oidc.issuer", "oidc.client_id", "oidc.client_secret_file", "oidc.audience", "oidc.scopes", "oidc.user_claim", "oidc.groups_claim", "oidc.ca", "oidc.token_life",
	"oidc.groups_file", "oidc.groups",
}

// terms reads the settings of authentication, of what jobs may run, and of the analysis.
func (h *holding) terms() (o apiOptions) {
	s := &h.Server.Auth
	for _, v := range []struct{ name, given string }{
		{"auth.keys_file", s.Keys}, {"auth.api_keys", s.Own}, {"auth.header_name", s.Header}, {"oidc.issuer", h.Server.OIDC.Issuer},
	} {
		switch said := h.Origin("auth.enabled").Layer != config.FromDefault; {
		case v.given == "" || s.On || h.Unread("auth.enabled"):
		case said:
			h.Notes = append(h.Notes, h.At(v.name)+" counts only with authentication, and "+h.At("auth.enabled")+" is false")
		default:
			h.refuse("%s needs %s: without authentication no key or token is asked for", h.At(v.name), h.At("auth.enabled"))
		}
	}
	o.asks, o.terms.Rate, o.hosts = s.On, float64(s.Rate), h.Server.Hosts
	for _, name := range o.hosts {
		if _, err := netip.ParseAddr(name); err != nil && !model.HostName(name) {
			h.refuse("%s: %q is not a host name such as berth.example.org: leave out scheme, port and path", h.At("server.hosts"), name)
		}
	}
	proxies, wrong := auth.ParseProxies(h.Server.Proxies)
	if wrong != "" {
		h.refuse("%s: %q is neither an address nor a network such as 10.0.0.0/8", h.At("server.trusted_proxies"), wrong)
	}
	o.terms.Proxies = proxies
	h.advice(&o.terms)
	h.keys(&o.terms)
	h.provider(&o.terms)
	if s.CommandRules != "" {
		var err error
		if o.terms.Rules, err = access.ReadRules(s.CommandRules); err != nil {
			h.refuseEach(err, "%s: %w", h.At("auth.command_rules"))
		}
	}
	return o
}

// refuseEach adds each of the errors that are joined in one, as the last argument of the format.
func (h *holding) refuseEach(err error, format string, args ...any) {
	for _, one := range config.Each(err) {
		h.refuse(format, append(slices.Clone(args), one)...)
	}
}

func timeouts(name string) cluster.Timeouts {
	if name == "wan" {
		return cluster.WAN
	}
	return cluster.LAN
}

// addresses checks the listen addresses of a peer and the addresses of its seeds.
func (h *holding) addresses(o *options) {
	for _, v := range []struct{ name, address string }{{"server.listen", o.listen}, {"server.advertise", o.advertise}} {
		check := cli.CheckOwnAddress
		if v.name == "server.listen" && o.advertise != o.listen {
			check = cli.CheckAddress
		}
		if err := check(v.address); err != nil && (v.name == "server.listen" || v.address != o.listen) {
			h.refuse("%s: %w", h.At(v.name), err)
		}
	}
	if _, _, bad := net.SplitHostPort(o.http); bad != nil {
		h.refuse("%s: %q is not host:port, such as %s", h.At("server.http"), o.http, config.DefaultHTTP)
	} else if err := cli.CheckAddress(o.http); err != nil {
		h.refuse("%s: %w", h.At("server.http"), err)
	} else if !cli.OnLoopback(o.http) && !o.api.asks && !h.Unread("auth.enabled") {
		h.refuse("%s: %s can be reached from other machines, and callers are not asked for tokens: turn authentication on with auth.enabled (--auth), or use a "+
			"loopback address", h.At("server.http"), o.http)
	} else if err := cli.CheckOwnAddress(o.http); err != nil && o.reached == o.http && !h.open("server.advertise_http") {
		h.refuse("%s: %w with %s", h.At("server.http"), err, h.At("server.advertise_http"))
	}
	if o.reached != o.http {
		if err := cli.CheckOwnAddress(o.reached); err != nil {
			h.refuse("%s: %w", h.At("server.advertise_http"), err)
		}
	}
	if o.publicURL != "" {
		host, err := endpoint.PublicHost(o.publicURL)
		if err != nil {
			h.refuse("%s: %w", h.At("server.public_url"), err)
		}
		o.api.hosts = append(slices.Clip(o.api.hosts), host)
	}
	if (o.public[0] == "") != (o.public[1] == "") {
		h.refuse("%s and %s belong together: give both", h.At("server.tls_cert"), h.At("server.tls_key"))
	}
	if o.http == o.listen {
		h.refuse("%s and %s are the same address: give the API another, such as %s", h.At("server.http"), h.At("server.listen"),
			config.DefaultHTTP)
	}
	for _, address := range o.seeds {
		if err := cli.CheckAddress(address); err != nil {
			h.refuse("%s: %w", h.At("server.join"), err)
		}
	}
}

// founders reads the list of founders.
func (h *holding) founders(o *options) (all []peer.Server) {
	here, before := h.At("server.bootstrap"), len(h.wrong)
	for _, entry := range h.Server.Bootstrap {
		id, address, ok := strings.Cut(entry, "=")
		if !ok || !model.Name(id) {
			h.refuse("%s: %q is not id=address", here, entry)
			continue
		}
		if err := cli.CheckAddress(address); err != nil {
			h.refuse("%s: peer %s: %w", here, id, err)
		}
		for _, other := range all {
			if string(other.ID) == id || other.Address == address {
				h.refuse("%s: peers %s and %s share an id or an address", here, other.ID, id)
			}
		}
		all = append(all, peer.Server{ID: model.PeerID(id), Address: address})
	}
	self := peer.Server{ID: o.id, Address: o.advertise}
	anyID, anyAddress := h.open("server.id"), h.open("server.advertise") && h.open("server.listen")
	if len(h.wrong) == before && !slices.ContainsFunc(all, func(s peer.Server) bool {
		return (anyID || s.ID == self.ID) && (anyAddress || s.Address == self.Address)
	}) {
		h.refuse("%s does not list this peer as %s=%s: add this entry, or correct %s or %s", here, cmp.Or(self.ID, "ID"), self.Address,
			h.At("server.id"), h.At("server.advertise"))
	}
	return all
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
