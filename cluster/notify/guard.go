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
	"github.com/berth-gpu/berth/fsm/state"
)

// World is how receivers are found and reached.
type World struct {
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error) // nil: the machine's resolver
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Local   func() []netip.Addr // addresses of this machine; nil: those of its interfaces
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

// rules say where a webhook may go. Link-local addresses, those of clouds' metadata and
// the cluster's own ports are forbidden always; of the rest what the allow-list names,
// if there is one.
type rules struct {
	allow []string
	ports map[uint16][]string // Berth's own, and the hosts that have them
}

func rulesOf(s *state.State) *rules {
	r := &rules{allow: SplitAllow(s.Settings().Notify.Allow), ports: map[uint16][]string{}}
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

// SplitAllow reads an allow-list.
func SplitAllow(text string) (out []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// CheckAllow says what of an allow-list cannot be read.
func CheckAllow(text string) error {
	for _, part := range SplitAllow(text) {
		if strings.Contains(part, "/") {
			if _, err := netip.ParsePrefix(part); err != nil {
				return fmt.Errorf("%q is no network such as 10.0.0.0/8", part)
			}
			continue
		}
		if host := strings.TrimPrefix(part, "*."); host == "" || strings.ContainsAny(host, "*: ") && !validIP(host) {
			return fmt.Errorf("%q is no host, no *.domain and no network such as 10.0.0.0/8", part)
		}
	}
	return nil
}

func validIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// CheckURL says what of a receiver's address cannot be right, before anything is known
// of what it resolves to.
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
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return forbidden(ip.Unmap())
	}
	return nil
}

// CheckTarget is CheckURL by a cluster's rules too: its own ports, and where webhooks may
// go. What a name resolves to is checked when it is dialed.
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
	named := func(rule string) bool {
		return strings.Contains(rule, "/") || validIP(rule) || matches(rule, host, netip.Addr{})
	}
	if len(r.allow) > 0 && !slices.ContainsFunc(r.allow, named) {
		return fmt.Errorf("%s is not among where webhooks may go (berth webhook settings)", host)
	}
	return nil
}

// metadata are addresses at which clouds tell machines their secrets, beside those that
// are link-local.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
		netip.MustParseAddr("168.63.129.16"),
	}
}

// forbidden is for addresses where no receiver may be, whatever is allowed.
func forbidden(ip netip.Addr) error {
	switch inner, wrapped := unwrap(ip); {
	case wrapped:
		return forbidden(inner)
	case ip.IsLinkLocalUnicast(), ip.IsLinkLocalMulticast(), ip.IsInterfaceLocalMulticast():
		return fmt.Errorf("%s is link-local: no webhook goes there", ip)
	case slices.Contains(metadata(), ip.WithZone("")):
		return fmt.Errorf("%s is a cloud's metadata service: no webhook goes there", ip)
	case ip.IsUnspecified(), ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("%s is no address of one machine", ip)
	}
	return nil
}

// unwrap finds an IPv4 address within an IPv6 one that leads to it: mapped, of NAT64,
// or of 6to4.
func unwrap(ip netip.Addr) (netip.Addr, bool) {
	if ip.Is4In6() {
		return ip.Unmap(), true
	}
	if !ip.Is6() {
		return ip, false
	}
	b := ip.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip.WithZone("")):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(ip.WithZone("")):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return ip, false
}

// permit says why a receiver at this address, found under this host's name, may not be
// reached; nil: it may.
func (r *rules) permit(host string, ip netip.Addr, port uint16, local []netip.Addr) error {
	ip = ip.Unmap()
	if err := forbidden(ip); err != nil {
		return err
	}
	if inner, wrapped := unwrap(ip); wrapped {
		ip = inner
	}
	if hosts, own := r.ports[port]; own {
		here := ip.IsLoopback() || slices.Contains(local, ip)
		for _, h := range hosts {
			at, err := netip.ParseAddr(h)
			if here || err != nil || at.Unmap() == ip || at.IsUnspecified() {
				return fmt.Errorf("%s is a port of this cluster: no webhook goes there", netip.AddrPortFrom(ip, port))
			}
		}
	}
	if len(r.allow) > 0 && !slices.ContainsFunc(r.allow, func(rule string) bool { return matches(rule, host, ip) }) {
		return fmt.Errorf("%s (%s) is not among where webhooks may go (berth webhook settings)", host, ip)
	}
	return nil
}

// matches says that one entry of an allow-list names a host or its address.
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
	return rule == host || err == nil && at == ip
}

// dial reaches a receiver. It resolves the name itself and dials the very address that
// was checked, so that a name cannot lead elsewhere in between.
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
	local := w.local()
	for _, ip := range list {
		if refusal := r.permit(host, ip, uint16(port), local); refusal != nil { // one bad address spoils a name
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

// ForbiddenError says that no webhook may go to an address.
type ForbiddenError struct{ err error }

// Error says which, and why.
func (e *ForbiddenError) Error() string { return e.err.Error() }

// Unwrap is the reason.
func (e *ForbiddenError) Unwrap() error { return e.err }
