package setup

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Ports of a machine, the same on all of them.
const (
	portPeer   = 7000
	portAgent  = 7001
	portGossip = 7002
	portAPI    = 10000
)

// Addresses for documentation (RFC 5737, RFC 3849), which lead the way that packets to other networks take. Nothing is sent there.
const (
	elsewhere  = "192.0.2.1:9"
	elsewhere6 = "[2001:db8::1]:9"
)

// addresses are where a machine listens, and where others reach it, for one port.
type addresses struct{ bind, reached string }

// place is the host under which others reach this machine.
type place struct {
	host string
	own  bool // it is an address of this machine, so that listeners can bind it
}

// at returns the addresses of a port.
func (p place) at(port int) addresses {
	a := addresses{reached: net.JoinHostPort(p.host, strconv.Itoa(port))}
	if a.bind = a.reached; !p.own {
		a.bind = net.JoinHostPort("::", strconv.Itoa(port))
	}
	return a
}

// findPlace returns the place of this machine. given is the value of --advertise: an address, a host name or an
// interface; empty: the address from which packets to another machine ("host:port"; empty: to other networks) start.
func findPlace(given, towards string) (place, error) {
	host := given
	switch ip, err := fromInterface(given); {
	case err != nil:
		return place{}, err
	case ip != "":
		host = ip
	case given == "":
		if towards == "" {
			host = cmp.Or(sourceOf(elsewhere), sourceOf(elsewhere6))
			towards = "other networks"
		} else if name, _, err := net.SplitHostPort(towards); err == nil && net.ParseIP(name) == nil && resolves(name) != nil {
			return place{}, cmdline.Usage("--address: %s has no address in the name service of this machine: correct the name, or give the IP address of a peer", name)
		} else {
			host = sourceOf(towards)
		}
		if host == "" {
			return place{}, cmdline.Usage("this machine has no way to %s: name the address, host name or interface by which others reach this machine with --advertise", towards)
		}
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil && !model.HostName(host):
		return place{}, cmdline.Usage("--advertise: %q is not an address, a host name or an interface of this machine", given)
	case err != nil:
		return place{host: host}, resolves(host)
	}
	if err := model.CheckIP(ip); err != nil {
		return place{}, cmdline.Usage("--advertise: %w: name the address by which others reach this machine", err)
	}
	return place{host: ip.String(), own: holds(ip)}, nil
}

// sourceOf returns the address of this machine from which packets to another start; empty: there is no way.
func sourceOf(to string) string {
	conn, err := net.Dial("udp", to) // sends nothing
	if err != nil {
		return ""
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if errors.Join(err, conn.Close()) != nil {
		return ""
	}
	return host
}

// fromInterface returns the first address of an interface of this machine, IPv4 before IPv6; empty: there is no such
// interface.
func fromInterface(name string) (string, error) {
	card, err := net.InterfaceByName(name)
	if name == "" || err != nil {
		return "", nil //nolint:nilerr // the name is that of a host
	}
	list, err := card.Addrs()
	if err != nil {
		return "", err
	}
	found := ""
	for _, a := range list {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil || model.CheckIP(prefix.Addr()) != nil {
			continue
		}
		if prefix.Addr().Is4() {
			return prefix.Addr().String(), nil
		}
		if found == "" {
			found = prefix.Addr().String()
		}
	}
	if found == "" {
		return "", cmdline.Usage("--advertise: the interface %s has no address that others can reach", name)
	}
	return found, nil
}

// holds reports whether an address is one of this machine, so that a listener can bind it.
func holds(ip netip.Addr) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	return err == nil && l.Close() == nil
}

// resolves returns an error if a host name has no address.
func resolves(host string) error {
	if _, err := net.LookupHost(host); err != nil {
		return fmt.Errorf("--advertise: %s has no address: %w", host, err)
	}
	return nil
}
