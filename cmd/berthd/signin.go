package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/access"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/oidc"
)

// keys reads the keys that a server accepts in addition to tokens, from a file of their own or from
// the server's file.
func (h *holding) keys(out *core.Terms) {
	s := &h.Server.Auth
	var err error
	if s.Keys != "" {
		if out.Keys, err = access.ReadKeys(s.Keys, h.secret); err != nil {
			h.refuseEach(err, "%s: %w", h.At("auth.keys_file"))
		}
		return
	}
	if s.Own != "" {
		if out.Keys, err = access.ParseKeys([]byte("{api_keys: " + s.Own + "}")); err != nil {
			h.refuseEach(h.Within(err), "%w")
		}
	}
	if out.Keys.Header, err = access.Header(s.Header); err != nil {
		h.refuse("%s: %w", h.At("auth.header_name"), err)
	}
}

// provider reads the settings of the identity provider.
func (h *holding) provider(out *core.Terms) {
	s := &h.Server.OIDC
	if s.Issuer == "" {
		for _, name := range []string{"oidc.client_id", "oidc.client_secret_file", "oidc.audience", "oidc.groups_file", "oidc.groups"} {
			if h.Origin(name).Layer != config.FromDefault && !h.open("oidc.issuer") {
				h.refuse("%s needs oidc.issuer, the URL of the identity provider", h.At(name))
			}
		}
		return
	}
	p := &oidc.Settings{TokenLife: s.TokenLife, Connection: oidc.Connection{
		Issuer: s.Issuer, ClientID: s.ClientID, Audience: cmp.Or(s.Audience, s.ClientID), Scopes: strings.Join(s.Scopes, " "),
		UserClaim: s.UserClaim, GroupsClaim: s.GroupClaim,
	}}
	if err := oidc.CheckURL(s.Issuer); err != nil {
		h.refuse("%s: %w", h.At("oidc.issuer"), err)
	}
	if s.ClientID == "" && !h.open("oidc.client_id") {
		h.refuse("%s is missing: give the id under which the identity provider knows this cluster", h.At("oidc.client_id"))
	}
	if !slices.Contains(s.Scopes, "openid") {
		h.refuse("%s: the scope openid is missing: without it the provider issues no ID token", h.At("oidc.scopes"))
	}
	h.providerFiles(p)
	h.providerGroups(p)
	out.OIDC = p
}

// providerFiles reads the secret of the client, and the provider's authority.
func (h *holding) providerFiles(p *oidc.Settings) {
	s := &h.Server.OIDC
	if s.Secret != "" {
		text, err := h.secret(s.Secret)
		if p.Secret = strings.TrimSpace(string(text)); err == nil && p.Secret == "" {
			err = fmt.Errorf("%s is empty", s.Secret)
		}
		if err != nil {
			h.refuse("%s: %w", h.At("oidc.client_secret_file"), err)
		}
	}
	if s.CA != "" {
		text, err := os.ReadFile(s.CA)
		if p.CA = string(text); err == nil {
			err = oidc.CheckCA(p.CA)
		}
		if err != nil {
			h.refuse("%s: %w", h.At("oidc.ca"), err)
		}
	}
}

// providerGroups reads what the groups of the provider allow.
func (h *holding) providerGroups(p *oidc.Settings) {
	s := &h.Server.OIDC
	var err error
	switch {
	case s.Groups != "":
		if p.Groups, err = access.ReadGroups(s.Groups); err != nil {
			h.refuseEach(err, "%s: %w", h.At("oidc.groups_file"))
		}
	case s.Own != "":
		if p.Groups, err = access.ParseGroups([]byte(s.Own)); err != nil {
			h.refuseEach(h.Within(err), "%w")
		}
	case !h.open("oidc.groups") && !h.open("oidc.groups_file"):
		h.refuse("oidc.groups is missing: without a group that has a role here no user can sign in")
	}
}
