package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/oidc"
)

// keyFile is the file of --auth-keys. Its names may stand below auth:, as in a complete
// configuration.
type keyFile struct {
	Auth *keySection `yaml:"auth"`

	keySection `yaml:",inline"`
}

type keySection struct {
	Enabled *bool               `yaml:"enabled"`
	Header  string              `yaml:"header_name"`
	Keys    map[string]keyOwner `yaml:"api_keys"`
}

// keyOwner is the owner of a key: a service's name, or an object with more fields.
type keyOwner struct {
	Service  string   `yaml:"service"`
	User     string   `yaml:"user"`
	Role     string   `yaml:"role"`
	Projects []string `yaml:"projects"`

	line, column int
}

// UnmarshalYAML reads either form.
func (o *keyOwner) UnmarshalYAML(n *yaml.Node) error {
	o.line, o.column = n.Line, n.Column
	if n.Kind == yaml.ScalarNode {
		o.Service = n.Value
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 { // a node's own Decode does not refuse what is not known
		if name := n.Content[i].Value; !slices.Contains([]string{"service", "user", "role", "projects"}, name) {
			return fmt.Errorf("line %d: unknown name", n.Content[i].Line)
		}
	}
	type plain keyOwner
	return n.Decode((*plain)(o))
}

// keys reads the keys that a server accepts in addition to tokens, from a file of their own or from
// the server's file.
func (h *holding) keys(out *core.Terms) {
	s := &h.Server.Auth
	var err error
	if s.Keys != "" {
		if out.Keys, err = h.readKeys(s.Keys); err != nil {
			h.refuseEach(err, "%s: %w", h.At("auth.keys_file"))
		}
		return
	}
	if s.Own != "" {
		if out.Keys, err = parseKeys([]byte("{api_keys: " + s.Own + "}")); err != nil {
			h.refuseEach(h.Within(err), "%w")
		}
	}
	if out.Keys.Header, err = headerNamed(s.Header); err != nil {
		h.refuse("%s: %w", h.At("auth.header_name"), err)
	}
}

// readKeys reads a file of keys. Its errors name the file and the fault.
func (h *holding) readKeys(path string) (keys auth.Keys, err error) {
	data, err := h.secret(path)
	if err != nil {
		return keys, err
	}
	if keys, err = parseKeys(data); err != nil {
		return keys, inFile(path, err)
	}
	return keys, nil
}

// inFile puts a file's name before each of the errors that are joined in one.
func inFile(path string, err error) error {
	all := config.Each(err)
	for i, one := range all {
		all[i] = cmdline.Usage("%s: %w", path, one)
	}
	return errors.Join(all...)
}

// parseKeys parses a document of keys. Its errors name the line, and never a key.
func parseKeys(data []byte) (keys auth.Keys, err error) {
	var file keyFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return keys, fmt.Errorf("%s is not valid: allowed are header_name, and api_keys with KEY: SERVICE or "+
			"KEY: {service or user: NAME, role: ROLE, projects: [NAME, ...]}, each key once", lineOf(err))
	}
	if err := lastDocument(d); err != nil {
		return keys, err
	}
	section := file.keySection
	if file.Auth != nil {
		if section.Enabled != nil || section.Header != "" || section.Keys != nil {
			return keys, errors.New("some names stand below auth: and some at the top level: move all of them below auth")
		}
		section = *file.Auth
	}
	if section.Enabled != nil && !*section.Enabled {
		return keys, errors.New("auth.enabled is false in this file: remove that line, or do not give a file of keys")
	}
	var wrong []error
	if keys.Header, err = headerNamed(section.Header); err != nil {
		wrong = append(wrong, fmt.Errorf("header_name: %w", err))
	}
	for _, secret := range slices.SortedFunc(maps.Keys(section.Keys), func(a, b string) int {
		x, y := section.Keys[a], section.Keys[b]
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	}) {
		owner := section.Keys[secret]
		key, err := owner.key()
		if err == nil {
			err = keys.Add(secret, key)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", owner.line, err))
		}
	}
	return keys, errors.Join(wrong...)
}

// lastDocument refuses a second document, which would be ignored otherwise.
func lastDocument(d *yaml.Decoder) error {
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("a second document follows the first; leave one")
	}
	return nil
}

// lineOf returns the position of a YAML error without the library's text, which may quote a key.
func lineOf(err error) string {
	if line := regexp.MustCompile(`line [0-9]+`).FindString(err.Error()); line != "" {
		return line + ":"
	}
	return "it"
}

func (o keyOwner) key() (auth.Key, error) {
	key := auth.Key{Name: o.Service, Role: model.RoleUser, Projects: o.Projects}
	if o.User != "" {
		key.Name, key.Human = o.User, true
	}
	if o.User != "" && o.Service != "" {
		return key, fmt.Errorf("a key has both the service %q and the user %q: give one of them", o.Service, o.User)
	}
	if o.Role != "" {
		key.Role, _ = model.RoleNamed(o.Role) // an unknown role becomes the zero role, which no key may have
	}
	return key, nil
}

// headerNamed returns a header's name in canonical form; empty text stays empty.
func headerNamed(name string) (string, error) {
	if len(name) > model.MaxName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) {
		return "", errors.New("the name of a header may have letters, digits and - only")
	}
	return http.CanonicalHeaderKey(name), nil
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
		if p.Groups, err = readGroups(s.Groups); err != nil {
			h.refuseEach(err, "%s: %w", h.At("oidc.groups_file"))
		}
	case s.Own != "":
		if p.Groups, err = parseGroups([]byte(s.Own)); err != nil {
			h.refuseEach(h.Within(err), "%w")
		}
	case !h.open("oidc.groups") && !h.open("oidc.groups_file"):
		h.refuse("oidc.groups is missing: without a group that has a role here no user can sign in")
	}
}

// readGroups reads a file of what groups allow, which only its owner may change.
func readGroups(path string) (oidc.Groups, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%s can be written by other users (mode %04o), which gives them any role: chmod go-w %s", path, info.Mode().Perm(), path)
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path) //nolint:gosec // a file that the operator names
	if err != nil {
		return nil, err
	}
	groups, err := parseGroups(data)
	if err != nil {
		return nil, inFile(path, err)
	}
	return groups, nil
}

// groupRight is what a group allows: a role, or an object with more fields.
type groupRight struct {
	Role     string   `yaml:"role"`
	Projects []string `yaml:"projects"`

	line int
}

// UnmarshalYAML reads either form.
func (g *groupRight) UnmarshalYAML(n *yaml.Node) error {
	g.line = n.Line
	if n.Kind == yaml.ScalarNode {
		g.Role = n.Value
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 { // a node's own Decode does not refuse what is not known
		if name := n.Content[i].Value; name != "role" && name != "projects" {
			return fmt.Errorf("line %d: a group has no %q: allowed are role and projects", n.Content[i].Line, name)
		}
	}
	type plain groupRight
	return n.Decode((*plain)(g))
}

// parseGroups parses a document of what groups allow. Its errors name the line.
func parseGroups(data []byte) (oidc.Groups, error) {
	var file map[string]groupRight
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: write GROUP: ROLE or GROUP: {role: ROLE, projects: [NAME, ...]}, each group once", err)
	}
	if err := lastDocument(d); err != nil {
		return nil, err
	}
	if len(file) == 0 {
		return nil, errors.New("there is no group: without a group that has a role here no user can sign in")
	}
	groups := oidc.Groups{}
	var wrong []error
	for _, name := range slices.SortedFunc(maps.Keys(file),
		func(a, b string) int { return cmp.Or(cmp.Compare(file[a].line, file[b].line), cmp.Compare(a, b)) }) {
		right := oidc.Right{Projects: file[name].Projects}
		right.Role, _ = model.RoleNamed(file[name].Role) // an unknown role becomes the zero role, which no group may have
		if err := right.Check(); err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: group %q: %w", file[name].line, model.Clip(name), err))
		}
		groups[name] = right
	}
	return groups, errors.Join(wrong...)
}
