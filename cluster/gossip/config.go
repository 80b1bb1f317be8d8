package gossip

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// maxName, in bytes of an id, keeps an announcement (name, record) inside one packet; a larger one would never be sent.
	maxName       = 128
	maxMemberName = maxName + 5 // with its kind before it
	// packetSize, in bytes, bounds a packet: a member that is asked gets as much news as fits.
	packetSize = 1400
	// retransmits scales how often news is passed on. At memberlist's 4, one update in a hundred missed one
	// of five members, as simulated, until the next full exchange, half a minute later; at 6 hardly any does.
	retransmits = 6
	// Times of failure detection. A member is probed twice a second by some other; a probe that is not answered
	// in time, directly, through three others or over TCP, makes a suspicion, and a suspicion that the member does
	// not refute makes the member silent: after 1 s, with the logarithm of the number of members more in a large cluster.
	// memberlist's times for a local network are twice as long, with four in place of two for the suspicion: six
	// seconds to silence in place of two. A hint that is wrong keeps new work away for as long as a member does not answer.
	probeEvery   = 500 * time.Millisecond
	probeTimeout = 300 * time.Millisecond
	suspicion    = 2 // times probeEvery, times the logarithm of the number of members where that is above 1
	// reclaimAfter is how long a name stays with a holder that went silent
	// before another address may take it over.
	reclaimAfter = 30 * time.Second
	// delegateVersion numbers this package's data in memberlist's messages; members with another number do
	// not merge.
	delegateVersion = 1
)

// Config is this member's identity.
type Config struct {
	// Meta is the record announced to the others; Kind and ID are required, and are those of this member's certificate.
	Meta Meta
	// Network opens connections, whose other side proves what it is.
	Network Network
	// Admit reports whether a member of a name ([NameOf]) takes part, once it has proven that name: peers know the members of the
	// cluster. nil: each does.
	Admit func(name string) bool
	// Bind is the address to listen on. Port 0 picks a free port.
	Bind netip.AddrPort
	// Advertise is the address announced to the others; Bind if zero. It is required when Bind is 0.0.0.0 or
	// [::].
	Advertise netip.AddrPort
	// Seeds are addresses ("host:port") of members to join, also again later
	// while this member is alone or some of them are missing. The own address
	// may be among them.
	Seeds []string
	// Logger logs events; nil discards them. It may block or be slow: lines are then dropped and counted.
	Logger *slog.Logger
}

// name returns this member's name.
func (cfg *Config) name() string { return NameOf(cfg.Meta.Kind, cfg.Meta.ID) }

// validate returns the first reason why cfg cannot be started.
func (cfg *Config) validate() error {
	switch {
	case len(cfg.Meta.ID) > maxName:
		return fmt.Errorf("gossip: the id %q has %d bytes; it must have 1 to %d", cfg.Meta.ID, len(cfg.Meta.ID), maxName)
	case cfg.Network == nil:
		return errors.New("gossip: no network")
	}
	return cfg.validateAddresses()
}

// validateAddresses is strict, because memberlist is not: an address that it
// cannot parse makes it listen on every interface.
func (cfg *Config) validateAddresses() error {
	bind, adv := cfg.Bind, cfg.Advertise
	switch {
	case !bind.IsValid():
		return errors.New("gossip: no bind address; set an IP address and a port")
	case bind.Addr().Zone() != "":
		return fmt.Errorf("gossip: bind address %s has a zone, which is not supported; use a routable address", bind)
	case bind.Addr().IsUnspecified() && !adv.IsValid():
		return fmt.Errorf("gossip: bind address %s does not say where others reach this host; set the advertise address", bind)
	case adv.IsValid() && (adv.Port() == 0 || adv.Addr().IsUnspecified() || adv.Addr().Zone() != ""):
		return fmt.Errorf("gossip: no member can reach the advertise address %s; set this host's IP address and gossip port", adv)
	}
	return nil
}

// memberlist translates a valid cfg. The library's own encryption, compression and second way over TCP are off: the transport does
// what they are for.
func (cfg *Config) memberlist(d memberlist.Delegate, t *transport, r *roster, n *notes) *memberlist.Config {
	mc := memberlist.DefaultLANConfig()
	mc.Name = cfg.name()
	mc.Transport = t
	mc.BindAddr, mc.BindPort = t.own.Addr().String(), int(t.own.Port())
	mc.AdvertiseAddr, mc.AdvertisePort = mc.BindAddr, mc.BindPort
	mc.EnableCompression = false
	mc.DisableTcpPings = true
	if cfg.Meta.Kind == KindNode {
		mc.PushPullInterval = 0 // see rejoinLoop
	}
	mc.TCPTimeout = listLimit
	mc.UDPBufferSize = packetSize
	mc.RetransmitMult = retransmits
	mc.ProbeInterval, mc.ProbeTimeout, mc.SuspicionMult = probeEvery, probeTimeout, suspicion
	mc.DeadNodeReclaimTime = reclaimAfter

	mc.DelegateProtocolMin, mc.DelegateProtocolMax = delegateVersion, delegateVersion
	mc.DelegateProtocolVersion = delegateVersion
	mc.Delegate, mc.Events, mc.Conflict = d, r, r
	mc.Logger = log.New(n, "", 0)
	return mc
}
