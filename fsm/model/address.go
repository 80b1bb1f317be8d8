package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MaxHost is the length of the longest host name, in bytes (RFC 1035, 2.3.4).
const MaxHost = 253

// SplitHostPort splits "host:port" into a host, which is an IP address or a DNS name, and
// a port from 1 to 65535. Nothing else passes: no user, path, query, space or zone.
func SplitHostPort(text string) (host string, port uint16, err error) {
	wrong := fmt.Errorf("%s is not host:port, such as 127.0.0.1:10000", quoted(text))
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return "", 0, wrong
	}
	n, err := strconv.ParseUint(text[at+1:], 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text[at+1:] {
		return "", 0, wrong
	}
	host = text[:at]
	if inner, found := strings.CutPrefix(host, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !found || err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", 0, wrong
		}
		return inner, uint16(n), nil
	}
	if !HostName(host) {
		return "", 0, wrong
	}
	return host, uint16(n), nil
}

// CheckHostPort reports why text is not the "host:port" of one machine: [SplitHostPort]
// cannot split it, or its host is an IP address that [CheckIP] refuses.
func CheckHostPort(text string) error {
	host, _, err := SplitHostPort(text)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return CheckIP(ip)
	}
	return nil
}

// HostName reports whether text is an IPv4 address or a DNS name: labels of letters,
// digits, hyphens and underscores with dots between them.
func HostName(text string) bool {
	if text == "" || len(text) > MaxHost {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, func(r rune) bool {
				return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
			}) {
			return false
		}
	}
	return true
}

// CheckIP reports why no machine of a cluster and no receiver can have the address: it
// is unspecified, multicast, broadcast, link-local or that of a cloud's metadata
// service, by itself or as the IPv4 address that an IPv6 address leads to.
func CheckIP(ip netip.Addr) error {
	for _, inner := range EmbeddedIPv4(ip) {
		if err := CheckIP(inner); err != nil {
			return fmt.Errorf("%s leads to %w", ip, err)
		}
	}
	switch {
	case !ip.IsValid(), ip.IsUnspecified():
		return fmt.Errorf("%s is not the address of one machine", ip)
	case ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("%s is a multicast or broadcast address, not that of one machine", ip)
	case ip.IsLinkLocalUnicast():
		return fmt.Errorf("%s is a link-local address, where clouds serve metadata", ip)
	case ip.Is4() && ip.As4()[0] == 0:
		return fmt.Errorf("%s is not the address of one machine", ip)
	case slices.Contains(metadata(), ip.WithZone("")):
		return fmt.Errorf("%s is the address of a cloud's metadata service", ip)
	}
	return nil
}

// metadata returns the addresses at which clouds give machines their secrets, in addition to those that are
// link-local: of AWS, Alibaba, Oracle and Azure.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}), // fd00:ec2::254
		netip.AddrFrom4([4]byte{100, 100, 100, 200}), netip.AddrFrom4([4]byte{192, 0, 0, 192}), netip.AddrFrom4([4]byte{168, 63, 129, 16}),
	}
}

// EmbeddedIPv4 returns the IPv4 addresses to which traffic for an IPv6 address may be
// led on: mapped and compatible addresses (RFC 4291), NAT64 (RFC 6052, and RFC 8215,
// whose prefix leaves open where the IPv4 address is), 6to4 (RFC 3056), Teredo (RFC
// 4380) and ISATAP (RFC 5214).
func EmbeddedIPv4(ip netip.Addr) []netip.Addr {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	v4 := func(a, b, c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{a, b, c, d}) }
	last := v4(b[12], b[13], b[14], b[15])
	switch {
	case ip.Is4In6():
		return []netip.Addr{last}
	case within(b, 12, 0) && ip != netip.IPv6Unspecified() && ip.WithZone("") != netip.IPv6Loopback(): // ::/96
		return []netip.Addr{last}
	case within(b, 12, 0, 0x64, 0xff, 0x9b): // 64:ff9b::/96
		return []netip.Addr{last}
	case within(b, 6, 0, 0x64, 0xff, 0x9b, 0, 1): // 64:ff9b:1::/48
		return []netip.Addr{last, v4(b[6], b[7], b[9], b[10]), v4(b[7], b[9], b[10], b[11]), v4(b[9], b[10], b[11], b[12])}
	case within(b, 2, 0x20, 0x02): // 2002::/16
		return []netip.Addr{v4(b[2], b[3], b[4], b[5])}
	case within(b, 4, 0x20, 0x01): // 2001::/32
		return []netip.Addr{v4(b[4], b[5], b[6], b[7]), v4(^b[12], ^b[13], ^b[14], ^b[15])}
	case b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return []netip.Addr{last}
	}
	return nil
}

// within reports whether the first n bytes of an address are the prefix, filled up with
// zeros.
func within(b [16]byte, n int, prefix ...byte) bool {
	for i := range n {
		want := byte(0)
		if i < len(prefix) {
			want = prefix[i]
		}
		if b[i] != want {
			return false
		}
	}
	return true
}

// quoted returns a given address, shortened for a message.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
