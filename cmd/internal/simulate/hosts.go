package simulate

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of a simulated cluster.
const (
	MaxHosts     = 10_000
	maxHostsFile = 1 << 20 // bytes of a file of nodes
)

// group is a group of equal nodes in a file.
type group struct {
	Name   string            `yaml:"name"`
	Count  *int              `yaml:"count"`
	GPUs   int               `yaml:"gpus"`
	Model  string            `yaml:"model"`
	Memory *float64          `yaml:"memory_gb"`
	Labels map[string]string `yaml:"labels"`
}

// ReadHosts reads the nodes of a cluster: YAML with nodes, a list of groups of equal nodes, each
// with gpus, and optional name, count, model, memory_gb (of each GPU) and labels. A group of
// several nodes numbers them: name-1, name-2. An error names the group and what it may have.
func ReadHosts(r io.Reader) ([]Host, error) {
	d := yaml.NewDecoder(io.LimitReader(r, maxHostsFile))
	d.KnownFields(true)
	var file struct {
		Nodes []group `yaml:"nodes"`
	}
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it may have nodes, a list of groups with name, count, gpus, model, memory_gb and labels: %s", yamlWords(err))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document follows the first; leave one")
	}
	var hosts []Host
	names := map[string]bool{}
	for i := range file.Nodes {
		some, err := file.Nodes[i].hosts(MaxHosts - len(hosts))
		if err != nil {
			return nil, fmt.Errorf("group %d of its nodes: %w", i+1, err)
		}
		for _, h := range some {
			if h.Name != "" && names[h.Name] {
				return nil, fmt.Errorf("group %d of its nodes: there is another node %s: give each group a name of its own", i+1, h.Name)
			}
			names[h.Name] = true
		}
		hosts = append(hosts, some...)
	}
	if len(hosts) == 0 {
		return nil, errors.New("it has no nodes: write at least nodes: [{gpus: 8}]")
	}
	return hosts, nil
}

// Errors of the YAML library for an unknown name, and for a value of another kind.
var (
	unknownName = regexp.MustCompile(`^field (\S+) not found in type .*`)
	otherKind   = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `([^`]*)`)? into (\\S+).*")
)

// yamlWords returns an error of the YAML library without the types of this program.
func yamlWords(err error) string {
	texts := []string{err.Error()}
	if wrong, is := errors.AsType[*yaml.TypeError](err); is {
		texts = wrong.Errors
	}
	words := make([]string, len(texts))
	for i, text := range texts {
		line, what, found := strings.Cut(strings.TrimPrefix(text, "yaml: "), ": ")
		if !found {
			line, what = "", line
		}
		if of := unknownName.FindStringSubmatch(what); of != nil {
			what = fmt.Sprintf("there is no %q", of[1])
		} else if of := otherKind.FindStringSubmatch(what); of != nil {
			what = mustBe(of[1], of[2], of[3])
		}
		words[i] = strings.TrimPrefix(line+": "+what, ": ")
	}
	return strings.Join(words, "; ")
}

// mustBe describes the expected kind of a value, given the type that holds it.
func mustBe(kind, value, into string) string {
	got, known := map[string]string{"map": "names with values", "seq": "a list"}[kind]
	if !known {
		got = fmt.Sprintf("%q", value)
	}
	switch {
	case strings.HasPrefix(into, "[]"):
		return "nodes must be a list of groups, such as [{gpus: 8}], not " + got
	case strings.HasPrefix(into, "map["):
		return "labels must be names with values, such as {zone: a}, not " + got
	case strings.HasPrefix(into, "int"):
		return "a whole number must stand here, not " + got
	case strings.HasPrefix(into, "float"):
		return "a number must stand here, not " + got
	case into == "string":
		return "text must stand here, not " + got
	case strings.Contains(into, "group"):
		return "a group must be names with values, such as {gpus: 8}, not " + got
	}
	return "the file must begin with nodes:, not with " + got
}

// hosts returns the nodes of a group, at most a number of them.
func (g *group) hosts(most int) ([]Host, error) {
	h, count := Host{Name: g.Name, GPUs: g.GPUs, Model: g.Model, MemoryMB: 80_000}, 1
	if g.Count != nil {
		count = *g.Count
	}
	if g.Model == "" {
		h.Model = anyModel
	}
	switch {
	case g.GPUs < 1 || g.GPUs > model.MaxDevices:
		return nil, fmt.Errorf("gpus must be 1 to %d, not %d", model.MaxDevices, g.GPUs)
	case count < 1 || count > most:
		return nil, fmt.Errorf("count must be 1 or more, and all nodes together at most %d; it is %d", MaxHosts, count)
	case g.Name != "" && !model.Name(g.Name):
		return nil, fmt.Errorf("name %q must have no spaces and at most %d bytes", g.Name, model.MaxName)
	case !model.Text(g.Model, model.MaxName):
		return nil, fmt.Errorf("model must be at most %d bytes of text on one line", model.MaxName)
	}
	if g.Memory != nil {
		if !(*g.Memory > 0 && *g.Memory <= 1_000_000) {
			return nil, fmt.Errorf("memory_gb must be above 0 and at most 1000000, not %g", *g.Memory)
		}
		h.MemoryMB = uint32(*g.Memory * 1000)
	}
	var err error
	if h.Labels, err = labelsOf(g.Labels); err != nil {
		return nil, err
	}
	hosts := slices.Repeat([]Host{h}, count)
	for i := range hosts {
		if count > 1 && h.Name != "" {
			hosts[i].Name = fmt.Sprintf("%s-%d", h.Name, i+1)
		}
	}
	return hosts, nil
}

// labelsOf formats labels as nodes report them.
func labelsOf(given map[string]string) (string, error) {
	var labels model.Labels
	for key, value := range given { // order-free: With sorts them
		labels = labels.With(model.Label{Key: key, Value: value})
	}
	text := labels.String()
	again, err := model.ParseLabels(text)
	if err != nil || !slices.Equal(again, labels) { // a comma or a minus at the end would change the labels
		return "", fmt.Errorf("labels %q %w", text, model.ErrLabels)
	}
	return text, nil
}
