// Package endpoint forms URLs from the addresses of peers and agents, and checks under which name a
// server is addressed.
//
// An address comes from another machine and is not trusted to be one: every request of Berth to a
// peer or an agent gets its URL from [URL], which accepts a host and a port and nothing else.
//
//berth:single
package endpoint

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// URL returns the URL of a target, an escaped path with or without a query such as
// "/node/logs?job=1", at the peer or the agent that listens at address, "host:port".
// Anything else in place of an address is an error.
func URL(address, target string) (*url.URL, error) {
	if _, _, err := model.SplitHostPort(address); err != nil {
		return nil, err
	}
	to, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("%q is not a path", target)
	}
	to.Scheme, to.Host = "http", address
	return to, nil
}

// Origin returns the origin under which browsers reach the peer at an address, "host:port", that has no public URL. Without TLS the API is
// served on loopback addresses only.
func Origin(address string) string {
	host, _, err := model.SplitHostPort(address)
	if err != nil {
		return "https://" + address
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return "http://" + address
	}
	return "https://" + address
}

// PublicHost returns the host of a URL under which users and browsers reach a server, or why that is none.
func PublicHost(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return "", fmt.Errorf("%q is not a URL such as https://berth.example.org or http://127.0.0.1:10000", text)
	}
	if u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("%q has the path %q: the API is at the top of a host, give the URL without a path", text, u.Path)
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && !model.HostName(u.Hostname()) {
		return "", fmt.Errorf("%q has no host name or IP address", text)
	}
	return u.Hostname(), nil
}

// Hosts are the names and addresses under which clients may address a server, as in the Host header
// of a request. A page of another site, whose name was made to resolve to this server (DNS
// rebinding), sends the name of that site there.
type Hosts struct {
	named map[string]bool
}

// NewHosts returns the names of a server: each is a host, or "host:port", of which the host counts.
// Loopback addresses and localhost are always included.
func NewHosts(names ...string) *Hosts {
	h := &Hosts{named: map[string]bool{"localhost": true}}
	for _, name := range names {
		if name = hostOf(name); name != "" {
			h.named[name] = true
		}
	}
	return h
}

// Has reports whether a Host header names this server: by one of its names, or by a
// loopback address. A request without the header, which no browser sends, passes.
func (h *Hosts) Has(header string) bool {
	host := hostOf(header)
	if header == "" || h.named[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// HasOrIP reports whether a Host header names this server, or is any IP address: with an address no
// name has to be resolved.
func (h *Hosts) HasOrIP(header string) bool {
	_, err := netip.ParseAddr(hostOf(header))
	return err == nil || h.Has(header)
}

// hostOf returns the host of "host", "host:port", "[address]" or "[address]:port", in the form in
// which names are compared: in small letters and without a dot at the end.
func hostOf(text string) string {
	if inner, found := strings.CutPrefix(text, "["); found {
		inner, rest, found := strings.Cut(inner, "]")
		if ip, err := netip.ParseAddr(inner); found && err == nil && (rest == "" || strings.HasPrefix(rest, ":")) {
			return ip.WithZone("").String()
		}
		return ""
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.WithZone("").String()
	}
	host, _, _ := strings.Cut(text, ":")
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// Plainly returns an error of a request without its form: net/http names the method and the URL, which begins with http where the
// connection itself is made by TLS, and is nothing that a user has typed.
func Plainly(err error) error {
	if sent, is := errors.AsType[*url.Error](err); is {
		return sent.Err
	}
	return err
}
