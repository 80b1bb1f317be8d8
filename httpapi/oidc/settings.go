package oidc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Settings are an identity provider and what its accounts may do here.
type Settings struct {
	Connection

	TokenLife time.Duration // of the token that a sign-in makes
	Groups    Groups
}

// Connection is how a provider is reached and understood. Two that are equal are the same provider.
type Connection struct {
	Issuer      string // URL
	ClientID    string
	Secret      string // of the client; empty: a public client
	Audience    string // that a token must name
	Scopes      string // that a sign-in asks for, divided by spaces
	UserClaim   string
	GroupsClaim string
	CA          string // certificates of the provider's authority (PEM); empty: those of the machine
}

// Right is what the accounts of a group may do.
type Right struct {
	Role     model.Role
	Projects []string
}

// Groups maps the groups of a provider to rights.
type Groups map[string]Right

// Of returns the rights of an account in some groups: the highest role, and all projects, by the alphabet. found is false if none of the
// groups is mapped.
func (g Groups) Of(names []string) (all Right, found bool) {
	for _, name := range names {
		one, is := g[name]
		if !is {
			continue
		}
		found = true
		all.Role = max(all.Role, one.Role)
		all.Projects = append(all.Projects, one.Projects...)
	}
	slices.Sort(all.Projects)
	all.Projects = slices.Compact(all.Projects)
	return all, found
}

// Check returns why a group cannot have a right.
func (r Right) Check() error {
	if !r.Role.Human() {
		return errors.New("its role is unknown: give it viewer, user, operator or admin")
	}
	for _, project := range r.Projects {
		if !model.Name(project) {
			return fmt.Errorf("%q cannot be a project: %w", model.Clip(project), model.WantName("project", project))
		}
	}
	if len(r.Projects) > model.MaxProjects {
		return fmt.Errorf("it has %d projects, at most are %d", len(r.Projects), model.MaxProjects)
	}
	return nil
}

// CheckURL returns why an address of a provider cannot be used: what it answers decides about the rights of users here, so it must be
// recognized by a certificate, unless it is on this machine.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "":
		return fmt.Errorf("%q is not a URL such as https://login.example.org", model.Clip(address))
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && onLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q must begin with https://: plain http is for loopback addresses only", model.Clip(address))
}

func onLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || host == "localhost"
}

// CheckCA returns why a text does not hold the certificates of an authority.
func CheckCA(pem string) error {
	if pem != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(pem)) {
		return errors.New("it holds no certificate (PEM)")
	}
	return nil
}

// requestLimit bounds one request to the provider.
const requestLimit = 5 * time.Second

// client returns what sends requests to the provider.
func (c *Connection) client() *http.Client {
	dial := &net.Dialer{Timeout: requestLimit}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dial.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: requestLimit, MaxResponseHeaderBytes: 64 << 10,
	}
	if c.CA != "" {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(c.CA))
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, Timeout: requestLimit}
}

// ScopeList returns the scopes that a sign-in asks for.
func (c *Connection) ScopeList() []string { return strings.Fields(c.Scopes) }
