package setup

import (
	"net/netip"
	"slices"
	"testing"
)

// The site's networks are private ones that lead out of the machine.
func TestSiteNetworks(t *testing.T) {
	t.Parallel()
	of := func(name string, list ...string) link {
		l := link{name: name}
		for _, text := range list {
			l.networks = append(l.networks, netip.MustParsePrefix(text))
		}
		return l
	}
	got := siteNetworks([]link{
		of("eth0", "10.1.2.3/16", "fe80::1/64", "fd00:1:2::3/48"), of("eth1", "192.168.7.7/24", "10.1.9.9/16", "203.0.113.5/24"), of("docker0", "172.17.0.1/16"), of("br-0123", "172.18.0.1/16"),
		of("ens5", "10.9.9.9/32", "169.254.1.1/16", "2001:db8::1/64", "100.64.0.1/10"), of("wide", "172.16.0.1/8"),
	})
	if want := []string{"10.1.0.0/16", "192.168.7.0/24", "fd00:1:2::/48"}; !slices.Equal(got, want) {
		t.Errorf("the networks are %v, want %v", got, want)
	}
	if got := siteNetworks(nil); len(got) != 0 {
		t.Errorf("without interfaces: %v", got)
	}
}
