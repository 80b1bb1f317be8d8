package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state"
)

// World is how receivers are resolved and reached.
type World struct {
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error) // nil: the machine's resolver
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Local   func() []netip.Addr // addresses of this machine; nil: those of its interfaces
	Sealing *sealing.Ring       // opens the secrets of webhooks; nil: they are not sealed
}

func (w *World) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	if w.Resolve != nil {
		return w.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (w *World) local() (out []netip.Addr) {
	if w.Local != nil {
		return w.Local()
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// rules decide where a webhook may go. Link-local addresses, those of clouds' metadata and the cluster's own
// ports are forbidden always; of the rest, those on the allow-list are allowed; without a list, public ones.
type rules struct {
	allow []string
	ports map[uint16][]string // Berth's own, and the hosts that have them
}

func rulesOf(s *state.State) *rules {
	r := &rules{allow: model.SplitAllow(s.Settings().Notify.Allow), ports: map[uint16][]string{}}
	add := func(address string) {
		host, port, err := net.SplitHostPort(address)
		if n, bad := strconv.ParseUint(port, 10, 16); err == nil && bad == nil {
			r.ports[uint16(n)] = append(r.ports[uint16(n)], host)
		}
	}
	for _, p := range s.Peers.All() {
		add(p.APIAddress)
		add(p.RaftAddress)
	}
	for _, n := range s.Nodes.All() {
		add(n.Address)
	}
	return r
}

// PublicAndLoopback is an allow-list for a cluster whose users are all on one machine.
const PublicAndLoopback = "0.0.0.0/0,::/0,127.0.0.0/8,::1/128"

func validIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// CheckURL returns an error for a receiver's address that cannot be right, before it is resolved.
func CheckURL(text string) error {
	if !model.WebURL(text) {
		return fmt.Errorf("must be http://... or https://... of at most %d bytes", model.MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("must be a URL with a host, such as https://example.com/hook")
	case u.User != nil:
		return errors.New("must hold no user and password: deliveries are signed instead")
	case u.Fragment != "":
		return errors.New("must have no # part")
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return forbidden(ip.Unmap())
	}
	if !model.HostName(host) || numeric(host) {
		return fmt.Errorf("%q is neither a host name nor an IP address in its usual form, such as 93.184.215.14 or [2606:2800::1]", model.Clip(host))
	}
	return nil
}

// numeric reports whether a resolver may take a host for a number that stands for an IPv4 address, such as
// 127.1, 2130706433 or 0x7f.1: its last label begins with a digit and holds nothing but a number (WHATWG URL,
// "ends in a number").
func numeric(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, found := strings.CutPrefix(last, "0x"); found {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// CheckTarget is CheckURL by a cluster's rules too: its own ports, and where webhooks may go. The addresses
// of a name are checked when it is dialed.
func CheckTarget(s *state.State, text string) error {
	if err := CheckURL(text); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(hostOf(text))
	if err != nil {
		return errors.New("must be a URL with a host, such as https://example.com/hook")
	}
	r := rulesOf(s)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return errors.New("must have a port up to 65535")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return r.permit(host, ip, uint16(number), nil)
	}
	if local(host) { // RFC 6761, 6.3
		return r.permit(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(number), nil)
	}
	named := func(rule string) bool {
		return strings.Contains(rule, "/") || validIP(rule) || matches(rule, host, netip.Addr{})
	}
	if len(r.allow) > 0 && !slices.ContainsFunc(r.allow, named) {
		return fmt.Errorf("%s is not among where webhooks may go (berth webhook settings)", host)
	}
	return nil
}

// local reports whether a name is that of the machine itself.
func local(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// forbidden returns an error for addresses where no receiver may be, whatever is allowed.
func forbidden(ip netip.Addr) error {
	if err := model.CheckIP(ip); err != nil {
		return fmt.Errorf("%w: no webhook goes there", err)
	}
	return nil
}

// block is a range of addresses that are not public.
type block struct {
	netip.Prefix

	name string
}

// blocks returns the ranges that the IANA registries of special-purpose addresses (RFC 6890) do not list as
// globally reachable, and those that lead to IPv4 addresses by ways whose outcome is unknown here.
func blocks() []block {
	of := func(name string, prefixes ...string) (out []block) {
		for _, p := range prefixes {
			out = append(out, block{netip.MustParsePrefix(p), name})
		}
		return out
	}
	return slices.Concat(
		of("a loopback", "127.0.0.0/8", "::1/128"),
		of("a private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
		of("a carrier's private", "100.64.0.0/10"),
		of("a reserved", "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
			"::/96", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16"),
		of("a local translation", "64:ff9b:1::/48"),
		of("a tunnel", "2001::/32", "2002::/16"),
	)
}

// notPublic returns the range of addresses that are not public in which ip lies.
func notPublic(ip netip.Addr) (block, bool) {
	for _, b := range blocks() {
		if b.Contains(ip.WithZone("")) {
			return b, true
		}
	}
	return block{}, false
}

// permit returns why a receiver at this address, found under this host's name, may not be reached; nil: it
// may. An IPv6 address that leads to an IPv4 one is judged as both.
func (r *rules) permit(host string, ip netip.Addr, port uint16, here []netip.Addr) error {
	ip = ip.Unmap()
	if err := forbidden(ip); err != nil {
		return err
	}
	all := append(model.EmbeddedIPv4(ip), ip)
	for _, at := range all {
		if r.own(at, port, here) {
			return fmt.Errorf("%s is a port of this cluster: no webhook goes there", netip.AddrPortFrom(at, port))
		}
	}
	listed := func(rule string) bool {
		return slices.ContainsFunc(all, func(at netip.Addr) bool { return matches(rule, host, at) })
	}
	if len(r.allow) > 0 && !slices.ContainsFunc(r.allow, listed) {
		return fmt.Errorf("%s (%s) is not among where webhooks may go (berth webhook settings)", host, ip)
	}
	for _, at := range all {
		b, inside := notPublic(at)
		if inside && !slices.ContainsFunc(r.allow, func(rule string) bool { return opens(rule, host, at, b) }) {
			return fmt.Errorf("%s is %s address: webhooks go there only if an admin allows it (berth webhook settings --allow %s)", at, b.name, at)
		}
	}
	return nil
}

// own reports whether an address is that of a peer or an agent.
func (r *rules) own(ip netip.Addr, port uint16, here []netip.Addr) bool {
	self := ip.IsLoopback() || slices.Contains(here, ip)
	return slices.ContainsFunc(r.ports[port], func(host string) bool {
		at, err := netip.ParseAddr(host)
		return self || err != nil || at.Unmap() == ip || at.IsUnspecified()
	})
}

// opens reports whether an entry of the allow-list lets webhooks go to an address that is not public: the
// address itself, a network within its range (0.0.0.0/0 is none), or the full name of the host. A *.domain
// does not, since others may assign its names; nor does a name open a loopback address, unless the name is
// local.
func opens(rule, host string, ip netip.Addr, of block) bool {
	switch {
	case strings.Contains(rule, "/"):
		p, err := netip.ParsePrefix(rule)
		return err == nil && p.Contains(ip) && of.Contains(p.Addr()) && p.Bits() >= of.Bits()
	case strings.HasPrefix(rule, "*"):
		return false
	case validIP(rule):
		return matches(rule, "", ip)
	}
	return matches(rule, host, ip) && (!ip.IsLoopback() || local(host))
}

// matches reports whether one entry of an allow-list names a host or its address.
func matches(rule, host string, ip netip.Addr) bool {
	if strings.Contains(rule, "/") {
		p, err := netip.ParsePrefix(rule)
		return err == nil && p.Contains(ip)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if domain, all := strings.CutPrefix(rule, "*"); all {
		return strings.HasSuffix(host, domain)
	}
	at, err := netip.ParseAddr(rule)
	return rule == host || err == nil && at.Unmap() == ip
}

// dial connects to a receiver. It resolves the name itself and dials the address that was checked, so that a
// name cannot lead elsewhere in between.
func (w *World) dial(ctx context.Context, r *rules, network, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	list, err := w.resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be resolved", host)
	}
	here := w.local()
	for _, ip := range list {
		if refusal := r.permit(host, ip, uint16(port), here); refusal != nil { // one bad address spoils a name
			return nil, &ForbiddenError{refusal}
		}
	}
	for _, ip := range list {
		var conn net.Conn
		if conn, err = w.Dial(ctx, network, netip.AddrPortFrom(ip.Unmap(), uint16(port)).String()); err == nil {
			return conn, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s has no address", host)
	}
	return nil, err
}

// ForbiddenError means that no webhook may go to an address.
type ForbiddenError struct{ err error }

// Error returns the address and the reason.
func (e *ForbiddenError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *ForbiddenError) Unwrap() error { return e.err }
