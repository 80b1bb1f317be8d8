package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// maxName and maxLabel, in bytes, keep an announcement (name, record,
	// label, encryption) inside one packet; a larger one would never be sent.
	maxName  = 128
	maxLabel = 64
	// packetSize, in bytes, passes through every common network unfragmented.
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

// Config is this member's identity and its trusted keys.
type Config struct {
	// Name is this member's name, unique in the cluster, 1 to 128 bytes. When
	// two claim one name the first holder keeps it.
	Name string
	// Meta is the record announced to the others; Kind and ID are required.
	Meta Meta
	// Keys are the cluster's secrets, each 16, 24 or 32 bytes (AES-128, -192,
	// -256). At least one is required, on loopback too. The first encrypts,
	// all decrypt. To change the key restart every member with {old, new}, then
	// every member with {new, old}, then with {new}.
	Keys [][]byte
	// Label names the cluster, 1 to 64 bytes. Members with different labels
	// never mix, even with the same key.
	Label string
	// Bind is the address to listen on, for UDP and TCP. Port 0 picks a free
	// port. It is ignored when Transport is set.
	Bind netip.AddrPort
	// Advertise is the address announced to the others; Bind if zero. It is required when Bind is 0.0.0.0 or
	// [::].
	Advertise netip.AddrPort
	// Seeds are addresses ("host:port") of members to join, also again later
	// while this member is alone or some of them are missing. The own address
	// may be among them.
	Seeds []string
	// AllowedNets, if not empty, are the only networks that members may
	// advertise an address in.
	AllowedNets []netip.Prefix
	// Transport replaces real sockets, in simulations.
	Transport memberlist.Transport
	// Logger logs events; nil discards them. It may block or be slow: lines are then dropped and counted.
	Logger *slog.Logger
}

// validate returns the first reason why cfg cannot be started.
func (cfg *Config) validate() error {
	switch {
	case cfg.Name == "" || len(cfg.Name) > maxName:
		return fmt.Errorf("gossip: member name %q has %d bytes; it must have 1 to %d", cfg.Name, len(cfg.Name), maxName)
	case cfg.Label == "" || len(cfg.Label) > maxLabel:
		return fmt.Errorf("gossip: cluster label %q has %d bytes; it must have 1 to %d", cfg.Label, len(cfg.Label), maxLabel)
	case len(cfg.Keys) == 0:
		return errors.New("gossip: no key; gossip is always encrypted, also on loopback: give all members one random key of 32 bytes")
	}
	for i, key := range cfg.Keys {
		if err := memberlist.ValidateKey(key); err != nil {
			return fmt.Errorf("gossip: key %d has %d bytes; a key must have 16, 24 or 32: %w", i+1, len(key), err)
		}
	}
	for _, p := range cfg.AllowedNets {
		if !p.IsValid() {
			return errors.New("gossip: an allowed network is empty; give an address and its bits, as in 10.0.0.0/8")
		}
	}
	if cfg.Transport != nil {
		return nil
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

// memberlist translates a valid cfg. The keys are copied.
func (cfg *Config) memberlist(d memberlist.Delegate, r *roster, n *notes) (*memberlist.Config, error) {
	ring, err := cfg.keyring()
	if err != nil {
		return nil, err
	}
	mc := memberlist.DefaultLANConfig()
	mc.Name = cfg.Name
	mc.Label = cfg.Label
	mc.Transport = cfg.Transport

	if cfg.Bind.IsValid() {
		mc.BindAddr, mc.BindPort = cfg.Bind.Addr().String(), int(cfg.Bind.Port())
	}
	mc.AdvertiseAddr, mc.AdvertisePort = "", mc.BindPort
	if cfg.Advertise.IsValid() {
		mc.AdvertiseAddr, mc.AdvertisePort = cfg.Advertise.Addr().String(), int(cfg.Advertise.Port())
	}
	for _, p := range cfg.AllowedNets {
		p = p.Masked()
		mc.CIDRsAllowed = append(mc.CIDRsAllowed, net.IPNet{
			IP:   p.Addr().AsSlice(),
			Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		})
	}

	mc.Keyring = ring
	mc.GossipVerifyIncoming = true
	mc.GossipVerifyOutgoing = true
	mc.EnableCompression = false // the decompressor has been memberlist's weak spot; records are small anyway
	mc.UDPBufferSize = packetSize
	mc.RetransmitMult = retransmits
	mc.ProbeInterval, mc.ProbeTimeout, mc.SuspicionMult = probeEvery, probeTimeout, suspicion
	mc.DeadNodeReclaimTime = reclaimAfter

	mc.DelegateProtocolMin, mc.DelegateProtocolMax = delegateVersion, delegateVersion
	mc.DelegateProtocolVersion = delegateVersion
	mc.Delegate, mc.Events, mc.Conflict = d, r, r
	mc.Logger = log.New(n, "", 0)
	return mc, nil
}

// keyring holds copies of the keys. Key changes go through restarts and not
// through the running ring: its RemoveKey shifts a slice that readers share.
func (cfg *Config) keyring() (*memberlist.Keyring, error) {
	keys := make([][]byte, len(cfg.Keys))
	for i, key := range cfg.Keys {
		keys[i] = bytes.Clone(key)
	}
	ring, err := memberlist.NewKeyring(keys, keys[0])
	if err != nil {
		return nil, fmt.Errorf("gossip: keyring: %w", err)
	}
	return ring, nil
}
