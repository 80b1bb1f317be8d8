package config

import "strings"

// Program is a set of programs that a setting is for.
type Program uint8

// The programs.
const (
	OfServer Program = 1 << iota
	OfAgent
	OfClient // the commands that ask a cluster
)

// String names the programs, "server, agent".
func (p Program) String() string {
	var names []string
	for i, name := range []string{"server", "agent", "client"} {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Setting is one row of the table.
type Setting struct {
	// Name is its path in a file: "server.http".
	Name string
	For  Program
	// Flag is its name on the command line; empty: it has none.
	Flag string
	// Env is its variable; empty: made of the name, as [Setting.Variable] says.
	Env string
	// Means says what it does, and what a special value stands for. A word in
	// backquotes names the value in the help of its flag.
	Means string
	// Cluster says that the whole cluster has one value, in the replicated state.
	Cluster bool
	// Reload says that a running program takes a new value over on SIGHUP.
	Reload bool
	// File says that the value names a file that is read with the configuration, so that
	// another content is another value.
	File bool
	// Secret says that the value is not to be shown.
	Secret bool
	// Value points at where the value is kept.
	Value Value
}

// Variable is the environment variable of the setting: BERTH_SERVER_HTTP for
// server.http.
func (s *Setting) Variable() string {
	if s.Env != "" {
		return s.Env
	}
	return "BERTH_" + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// Meaning is what the setting means, as plain text.
func (s *Setting) Meaning() string { return strings.ReplaceAll(s.Means, "`", "") }

// Shown is the value as it may be shown to anybody.
func (s *Setting) Shown() string {
	if s.Secret && s.Value.Text() != "" {
		return "(secret)"
	}
	return s.Value.Text()
}
