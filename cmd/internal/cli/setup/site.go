package setup

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// link is a network interface with its addresses.
type link struct {
	name     string
	networks []netip.Prefix
}

// interfaces returns the interfaces of this machine that are up; none if they cannot be listed.
func interfaces() (out []link) {
	list, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range list {
		addresses, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		one := link{name: i.Name}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				one.networks = append(one.networks, p)
			}
		}
		out = append(out, one)
	}
	return out
}

// siteNetworks returns the private networks that a machine is in: those of RFC 1918 and unique local ones. Networks inside of the machine,
// such as those of containers, are none of the site.
func siteNetworks(links []link) (out []string) {
	for _, l := range links {
		if slices.ContainsFunc([]string{"docker", "br-", "virbr", "veth", "cni", "flannel", "cali", "podman", "lxc", "lxd", "vnet"}, func(p string) bool { return strings.HasPrefix(l.name, p) }) {
			continue
		}
		for _, p := range l.networks {
			p = netip.PrefixFrom(p.Addr().Unmap().WithZone(""), p.Bits()).Masked()
			if p.Addr().IsPrivate() && !p.IsSingleIP() && !slices.Contains(out, p.String()) && widest(p) {
				out = append(out, p.String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// widest reports whether a network is no wider than the range of private addresses that it begins in.
func widest(p netip.Prefix) bool {
	for _, of := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"} {
		if r := netip.MustParsePrefix(of); r.Contains(p.Addr()) {
			return p.Bits() >= r.Bits()
		}
	}
	return false
}
