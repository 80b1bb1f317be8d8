package cgroup

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of host, by what is mounted.
const (
	Unified = "v2"     // version 2 alone
	Hybrid  = "hybrid" // version 2 and version 1, which has most controllers
	Legacy  = "v1"     // version 1 alone
	None    = "none"
)

// Layout is what a host has of control groups, as one process sees it.
type Layout struct {
	Kind string
	Own  string // folder of this process's group of version 2; empty: none
	Top  bool   // this process sees nothing above its own group
}

// Look reads the layout from /proc/self/mountinfo and /proc/self/cgroup below root,
// which is "/" but for tests.
func Look(root string) (Layout, error) {
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo")) //nolint:gosec // the kernel's
	if err != nil {
		return Layout{Kind: None}, err
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) //nolint:gosec // the kernel's
	if err != nil {
		return Layout{Kind: None}, err
	}
	m := parseMounts(string(mounts))
	l := Layout{Kind: m.kind()}
	own, member := parseOwn(string(groups))
	if m.at == "" || !member {
		return l, nil
	}
	below, ok := relative(m.from, own)
	if !ok {
		return l, fmt.Errorf("this process is in the group %s, which is not below %s, as mounted on %s", own, m.from, m.at)
	}
	l.Own, l.Top = filepath.Join(root, m.at, below), below == "."
	return l, nil
}

// mounts are the hierarchies of a host.
type mounts struct {
	at, from string // of version 2: where it is mounted, and from which group down
	legacy   bool   // a hierarchy of version 1 with a controller is mounted, too
}

func (m mounts) kind() string {
	switch {
	case m.at != "" && m.legacy:
		return Hybrid
	case m.at != "":
		return Unified
	case m.legacy:
		return Legacy
	}
	return None
}

// parseMounts reads mountinfo: fields up to " - ", then type, source and options.
func parseMounts(text string) (m mounts) {
	for line := range strings.Lines(text) {
		head, tail, found := strings.Cut(line, " - ")
		fields, kind := strings.Fields(head), strings.Fields(tail)
		if !found || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		switch {
		case kind[0] == "cgroup2" && m.at == "":
			m.from, m.at = unescape(fields[3]), unescape(fields[4])
		case kind[0] == "cgroup":
			named := slices.ContainsFunc(strings.Split(kind[2], ","), func(o string) bool { return strings.HasPrefix(o, "name=") })
			m.legacy = m.legacy || !named
		}
	}
	return m
}

// unescape undoes what the kernel does to blanks and backslashes in a path.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// parseOwn finds the group of version 2 among those of a process.
func parseOwn(text string) (group string, member bool) {
	for line := range strings.Lines(text) {
		if group, member = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); member {
			return group, path.IsAbs(group)
		}
	}
	return "", false
}

// relative returns the way from one group down to another.
func relative(from, to string) (string, bool) {
	way, err := filepath.Rel(path.Clean(from), path.Clean(to))
	return way, err == nil && way != ".." && !strings.HasPrefix(way, "../")
}
