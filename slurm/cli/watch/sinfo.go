package watch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/fleet"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// loadNodes is how Slurm's programs call the request for nodes in errors.
const loadNodes = "slurm_load_partitions"

// The formats of sinfo's options.
const (
	nodeSinfo     = "%#9N %.6D %#.9P %6t"
	longNodeSinfo = "%#9N %.6D %#.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
	longSinfo     = "%#9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
	shortSinfo    = "%#9P %.5a %.10l %.16F %N"
	whySinfo      = "%20E %9u %19H %N"
	longWhySinfo  = "%20E %12U %19H %6t %N"
)

func sinfoOptions() []option.Option {
	v := option.TakesValue
	return append([]option.Option{
		{Name: "all", Short: 'a'},
		{Name: "dead", Short: 'd'},
		{Name: "exact", Short: 'e'},
		{Name: "noheader", Short: 'h'},
		{Name: "hide"},
		{Name: "iterate", Short: 'i', Takes: v, Form: "SECONDS"},
		{Name: "long", Short: 'l'},
		{Name: "nodes", Short: 'n', Takes: v, Form: "NODES"},
		{Name: "Node", Short: 'N'},
		{Name: "format", Short: 'o', Takes: v, Form: "FORMAT"},
		{Name: "Format", Short: 'O', Takes: v, Form: "NAMES"},
		{Name: "partition", Short: 'p', Takes: v, Form: "NAMES"},
		{Name: "responding", Short: 'r'},
		{Name: "list-reasons", Short: 'R'},
		{Name: "summarize", Short: 's'},
		{Name: "sort", Short: 'S', Takes: v, Form: "FIELDS"},
		{Name: "states", Short: 't', Takes: v, Form: "STATES"},
		{Name: "reservation", Short: 'T'},
		{Name: "json"},
		{Name: "yaml"},
	}, common()...)
}

// Sinfo shows partitions and nodes.
func Sinfo(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "sinfo", stdout, stderr).runSinfo(args)
}

// runSinfo carries out a command line and returns the exit code.
func (p *program) runSinfo(args []string) int {
	return p.carryOut(args, sinfoOptions(), p.sinfo)
}

func (p *program) sinfo(line *option.Line) error {
	if err := without(line, "json", "yaml", "iterate", "reservation"); err != nil {
		return err
	}
	columns, err := sinfoFormat(line)
	if err != nil {
		return err
	}
	wanted, err := nodeFilter(line)
	if err != nil {
		return err
	}
	api, err := p.api()
	if err != nil {
		return err
	}
	list, err := api.Nodes(p.ctx)
	if err != nil {
		return refused(loadNodes, err)
	}
	groups := p.groupNodes(line, columns, list, wanted)
	rows := make([]func(string) string, len(groups))
	for i, g := range groups {
		rows[i] = func(key string) string { return g.cell(key) }
	}
	if line.Has("long") && !line.Has("format") && !line.Has("Format") {
		fmt.Fprintln(p.out, p.now.Format(time.ANSIC))
	}
	_, err = io.WriteString(p.out, columns.Print(!line.Has("noheader"), rows))
	return err
}

func sinfoFormat(line *option.Line) (format.Format, error) {
	if text, given := either(line, "format", "SINFO_FORMAT"); given && !line.Has("Format") {
		return format.Sinfo(text)
	}
	if text, given := line.Last("Format"); given {
		return format.SinfoNames(text)
	}
	long := line.Has("long")
	switch {
	case line.Has("summarize"):
		return format.Sinfo(shortSinfo)
	case line.Has("list-reasons") && long:
		return format.Sinfo(longWhySinfo)
	case line.Has("list-reasons"):
		return format.Sinfo(whySinfo)
	case line.Has("Node") && long:
		return format.Sinfo(longNodeSinfo)
	case line.Has("Node"):
		return format.Sinfo(nodeSinfo)
	case long:
		return format.Sinfo(longSinfo)
	}
	return format.Sinfo(format.DefaultSinfo)
}

// nodeFilter returns which nodes the options choose.
func nodeFilter(line *option.Line) (func(*wire.Node, format.NodeState) bool, error) {
	var names, states []string
	var err error
	if text, given := line.Last("nodes"); given {
		if names, err = hostlist.Expand(text); err != nil {
			return nil, err
		}
	}
	for _, word := range listOf(line, "states", "") {
		full, err := nodeStates(word)
		if err != nil {
			return nil, err
		}
		states = append(states, full...)
	}
	return func(n *wire.Node, s format.NodeState) bool {
		quiet := fleet.Silent(n) != ""
		switch {
		case line.Has("responding") && quiet, line.Has("dead") && !quiet:
			return false
		case line.Has("list-reasons") && s != format.NodeDown && s != format.NodeDrained && s != format.NodeDraining:
			return false
		}
		return chosen(names, n.ID) && (chosen(states, string(s)) || quiet && slices.Contains(states, "no_respond"))
	}, nil
}

// nodeStates returns the states that a word of -t stands for.
func nodeStates(text string) ([]string, error) {
	all := []format.NodeState{
		format.NodeAllocated, format.NodeDown, format.NodeDrained, format.NodeDraining, format.NodeIdle, format.NodeMaint, format.NodeMixed,
		format.NodeReserved, format.NodeUnknown,
	}
	w := strings.ToLower(text)
	var found []string
	for _, s := range all {
		if w == "all" || w == string(s) || w == s.Compact() || (w == "drain" || w == "drained") && s == format.NodeDrained || w == "drain" && s == format.NodeDraining ||
			w == "no_respond" && s == format.NodeUnknown {
			found = append(found, string(s))
		}
	}
	switch w {
	case "no_respond":
		return []string{w}, nil
	case "fail", "failing", "future", "comp", "completing", "power_down", "powered_down", "power_up", "reboot", "planned", "inval", "blocked":
		return []string{w}, nil // Slurm has it, and Berth no node in it
	}
	if len(found) == 0 {
		words := make([]string, len(all))
		for i, s := range all {
			words[i] = s.Compact()
		}
		return nil, fmt.Errorf("Bad state string: %q; states are all, %s", text, strings.Join(words, ", ")) //nolint:staticcheck // Slurm's words
	}
	return found, nil
}

// groupNodes returns the nodes of each partition in groups: nodes that look the same in all columns, which do not sum up, are one.
func (p *program) groupNodes(line *option.Line, columns format.Format, list *wire.Nodes,
	wanted func(*wire.Node, format.NodeState) bool,
) (groups []*nodeGroup) {
	names := listOf(line, "partition", "SINFO_PARTITION")
	nodes, byName := list.Nodes, map[string]*wire.Node{}
	for i := range nodes {
		byName[nodes[i].ID] = &nodes[i]
	}
	for _, part := range fleet.Partitions(list) {
		if !chosen(names, part.Name) {
			continue
		}
		found := map[string]*nodeGroup{}
		before := len(groups)
		for _, name := range part.Nodes {
			n := byName[name]
			state := fleet.State(n, p.now)
			if !wanted(n, state) {
				continue
			}
			one := &nodeGroup{partition: part, nodes: []*wire.Node{n}, state: state, now: p.now, version: p.host.Version}
			key := one.key(columns, line.Has("exact"))
			if line.Has("Node") {
				key = n.ID
			}
			if g := found[key]; g != nil {
				g.nodes = append(g.nodes, n)
				continue
			}
			found[key] = one
			groups = append(groups, one)
		}
		if len(groups) == before && !line.Has("Node") && !line.Has("list-reasons") {
			groups = append(groups, &nodeGroup{partition: part, now: p.now, version: p.host.Version})
		}
	}
	sortGroups(line, groups)
	return groups
}

// sortGroups sorts by the letters of -S; by default nodes out of service come first and idle ones last, and with -N the names count.
func sortGroups(line *option.Line, groups []*nodeGroup) {
	text, given := line.Last("sort")
	if !given {
		text = os.Getenv("SINFO_SORT")
	}
	if text == "" && line.Has("Node") {
		slices.SortStableFunc(groups, func(a, b *nodeGroup) int { return words.ByNumber(a.cell("nodelist"), b.cell("nodelist")) })
		return
	}
	if text == "" {
		slices.SortStableFunc(groups, func(a, b *nodeGroup) int { return cmp.Compare(nodeRank(a.state), nodeRank(b.state)) })
		return
	}
	parts := strings.Split(text, ",")
	slices.SortStableFunc(groups, func(a, b *nodeGroup) int {
		for _, part := range parts {
			letter := strings.TrimLeft(part, "+-#")
			c := compareGroups(letter, a, b)
			if strings.HasPrefix(part, "-") {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
}

func compareGroups(letter string, a, b *nodeGroup) int {
	switch letter {
	case "t", "T":
		return cmp.Compare(nodeRank(b.state), nodeRank(a.state))
	case "D":
		return cmp.Compare(len(a.nodes), len(b.nodes))
	}
	for _, f := range format.SinfoFields() {
		if string(rune(f.Letter)) == letter {
			return words.ByNumber(a.cell(f.Key), b.cell(f.Key))
		}
	}
	return 0
}

// nodeRank orders states.
func nodeRank(s format.NodeState) int {
	return slices.Index([]format.NodeState{
		format.NodeDown, format.NodeDraining, format.NodeDrained, format.NodeMaint, format.NodeReserved, format.NodeMixed, format.NodeAllocated,
		format.NodeIdle,
	}, s)
}
