package inspect

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/doctor"
)

// nameLimit bounds a look-up.
const nameLimit = 5 * time.Second

// addresses returns those of this machine.
func addresses() (out []string) {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if n, is := a.(*net.IPNet); is {
			out = append(out, n.IP.String())
		}
	}
	return out
}

// hosts returns the hosts in the addresses of the settings.
func (m *member) hosts(ctx context.Context) (out []doctor.Host) {
	add := func(used, address string, own bool) {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && (!own || ip.IsUnspecified()) {
			return
		}
		same := func(h doctor.Host) bool { return h.Name == host && h.Own == own }
		if slices.ContainsFunc(out, same) {
			return
		}
		h := doctor.Host{Name: host, Used: used, Own: own}
		ctx, cancel := context.WithTimeout(ctx, nameLimit)
		defer cancel()
		h.IPs, h.Err = (&net.Resolver{}).LookupHost(ctx, host)
		out = append(out, h)
	}
	_, gossip := m.gossip()
	if m.role == roleNode {
		a := &m.settings.Agent
		add("agent.advertise", a.Advertise, true)
		add("agent.listen", a.Listen, true)
		add("agent.advertise_gossip", gossip, true)
		for _, p := range a.Peers {
			add("agent.peers", p, false)
		}
		return out
	}
	s := &m.settings.Server
	add("server.advertise", s.Advertise, true)
	add("server.listen", s.Listen, true)
	add("server.advertise_http", s.AdvertiseHTTP, true)
	add("server.http", s.HTTP, true)
	add("server.advertise_gossip", gossip, true)
	for _, p := range s.Join {
		add("server.join", p, false)
	}
	for _, p := range s.Bootstrap {
		if _, address, ok := strings.Cut(p, "="); ok {
			add("server.bootstrap", address, false)
		}
	}
	return out
}
