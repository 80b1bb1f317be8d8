package access

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
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

// ReadKeys reads a file of keys. read reads a file with secrets. The errors name the file and the fault.
func ReadKeys(path string, read func(path string) ([]byte, error)) (keys auth.Keys, err error) {
	data, err := read(path)
	if err != nil {
		return keys, err
	}
	if keys, err = ParseKeys(data); err != nil {
		return keys, inFile(path, err)
	}
	return keys, nil
}

// ParseKeys parses a document of keys. Its errors name the line, and never a key.
func ParseKeys(data []byte) (keys auth.Keys, err error) {
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
	if keys.Header, err = Header(section.Header); err != nil {
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

// Header returns a header's name in canonical form; empty text stays empty.
func Header(name string) (string, error) {
	if len(name) > model.MaxName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}) {
		return "", errors.New("the name of a header may have letters, digits and - only")
	}
	return http.CanonicalHeaderKey(name), nil
}
