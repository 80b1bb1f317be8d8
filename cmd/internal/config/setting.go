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

// String returns the names of the programs: "server, agent".
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
	// Env is its variable; empty: derived from the name, see [Setting.Variable].
	Env string
	// Means describes the setting, and its special values. A word in backquotes names the value in
	// the help of its flag.
	Means string
	// Cluster marks settings of which the whole cluster has one value, in the replicated state.
	Cluster bool
	// Reload marks settings that a running program takes over on SIGHUP.
	Reload bool
	// File marks settings that name a file which is read with the configuration, so that another
	// content is another value.
	File bool
	// Secret marks settings whose value must not be shown.
	Secret bool
	// Value points at the variable that holds the value.
	Value Value
}

// Variable returns the environment variable of the setting: BERTH_SERVER_HTTP for server.http.
func (s *Setting) Variable() string {
	if s.Env != "" {
		return s.Env
	}
	return "BERTH_" + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// Meaning returns the meaning as plain text.
func (s *Setting) Meaning() string { return strings.ReplaceAll(s.Means, "`", "") }

// Shown returns the value without secrets.
func (s *Setting) Shown() string {
	if s.Secret && s.Value.Text() != "" {
		return "(secret)"
	}
	return s.Value.Text()
}
