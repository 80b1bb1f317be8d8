package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks of proxies whose headers about a client's address are trusted.
type Proxies []netip.Prefix

// ParseProxies parses networks such as 10.0.0.0/8, and single addresses. The second result is the
// text that is neither; empty: there is none.
func ParseProxies(texts []string) (out Proxies, wrong string) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if one, alone := netip.ParseAddr(text); alone == nil {
			one = one.Unmap()
			network, err = one.Prefix(one.BitLen())
		}
		if err != nil {
			return nil, text
		}
		out = append(out, network.Masked())
	}
	return out, ""
}

// Has reports whether an address is that of a trusted proxy.
func (p Proxies) Has(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a.WithZone("")) {
			return true
		}
	}
	return false
}

// Client returns the address that a request comes from. If the connection comes from a trusted
// proxy that is the address in X-Forwarded-For, or in Forwarded (RFC 7239): both are read from the
// right, past trusted proxies, to the first other address. What a client has written further to the
// left never counts. If both headers are there and differ, or one holds no address where one is
// needed, the address is that of the last known proxy. An address that cannot be parsed is returned
// unchanged.
func (p Proxies) Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	from, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if from = from.Unmap(); !p.Has(from) {
		return from.String()
	}
	plain, standard := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	by := p.walk(from, hops(plain, func(hop string) string { return hop }))
	if len(standard) > 0 {
		other := p.walk(from, hops(standard, forOf))
		if len(plain) == 0 {
			by = other
		} else if other != by {
			by = from
		}
	}
	return by.String()
}

// walk goes from the nearest hop past trusted proxies.
func (p Proxies) walk(from netip.Addr, hops []string) netip.Addr {
	for i := len(hops) - 1; i >= 0 && p.Has(from); i-- {
		next, err := parseHop(hops[i])
		if err != nil {
			break
		}
		from = next
	}
	return from
}

// hops returns the hops of all lines of a header, the nearest last.
func hops(lines []string, of func(string) string) (out []string) {
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(of(hop)))
		}
	}
	return out
}

// forOf returns the address of an element of Forwarded; empty: it names none.
func forOf(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		if name, value, found := strings.Cut(strings.TrimSpace(pair), "="); found && strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop parses an address with or without a port and brackets.
func parseHop(text string) (netip.Addr, error) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), nil
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap(), err
}

// Network returns the key under which an address is counted: itself, and for IPv6 its network of 64
// bits, all of which one client may have.
func Network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() {
		return address
	}
	network, err := a.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
