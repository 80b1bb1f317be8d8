package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// keyFile is the file of --auth-keys. It may stand below auth:, as in a whole
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

// keyOwner is a service's name, or more than that.
type keyOwner struct {
	Service  string   `yaml:"service"`
	User     string   `yaml:"user"`
	Role     string   `yaml:"role"`
	Projects []string `yaml:"projects"`
}

// UnmarshalYAML reads either.
func (o *keyOwner) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		o.Service = n.Value
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 { // a node's own Decode does not refuse what is not known
		if name := n.Content[i].Value; !slices.Contains([]string{"service", "user", "role", "projects"}, name) {
			return fmt.Errorf("line %d: no such name", n.Content[i].Line)
		}
	}
	type plain keyOwner
	return n.Decode((*plain)(o))
}

// readKeys reads the keys that a server knows beside tokens. Its errors name the file
// and what is wrong, and never a key.
func readKeys(path string) (keys auth.Keys, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file that the operator names
	if err != nil {
		return keys, err
	}
	var file keyFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return keys, usage("%s: %s does not make sense: it may have header_name, and api_keys with KEY: SERVICE or "+
			"KEY: {service or user: NAME, role: ROLE, projects: [NAME, ...]}, each key once", path, lineOf(err))
	}
	section := file.keySection
	if file.Auth != nil {
		section = *file.Auth
	}
	if keys.Header = http.CanonicalHeaderKey(section.Header); section.Header != "" && !headerName(section.Header) {
		return keys, usage("%s: header_name is no name of a header: letters, digits and - only", path)
	}
	for secret, owner := range section.Keys { // order-free: each is added alone
		key, err := owner.key()
		if err == nil {
			err = keys.Add(secret, key)
		}
		if err != nil {
			return keys, usage("%s: %w", path, err)
		}
	}
	return keys, nil
}

// lineOf is where an error of the YAML is. The library's own words may quote a key.
func lineOf(err error) string {
	if line := regexp.MustCompile(`line [0-9]+`).FindString(err.Error()); line != "" {
		return line
	}
	return "it"
}

func (o keyOwner) key() (auth.Key, error) {
	key := auth.Key{Name: o.Service, Role: model.RoleUser, Projects: o.Projects}
	if o.User != "" {
		key.Name, key.Human = o.User, true
	}
	if o.User != "" && o.Service != "" {
		return key, fmt.Errorf("a key is that of the service %q and of the user %q: name one of them", o.Service, o.User)
	}
	if o.Role != "" {
		key.Role, _ = model.RoleNamed(o.Role) // which is none that a key may have if it is not known
	}
	return key, nil
}

func headerName(name string) bool {
	return len(name) <= model.MaxName && !bytes.ContainsFunc([]byte(name), func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}
