package access

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/oidc"
)

// ReadGroups reads a file of what the groups of an identity provider allow, which only its owner may change.
func ReadGroups(path string) (oidc.Groups, error) {
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
	groups, err := ParseGroups(data)
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

// ParseGroups parses a document of what groups allow. Its errors name the line.
func ParseGroups(data []byte) (oidc.Groups, error) {
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
