package daemon

import (
	"slices"
	"strings"
)

// Command is a command that berthd carries out.
type Command struct {
	Path   string // its words, such as "cluster recover"
	Short  string // one line for the help
	Hidden bool   // the help does not list the command
}

// Commands returns the commands of berthd, but for those that cobra adds to every program.
func Commands() []Command {
	return []Command{
		{Path: "init", Short: "Make a new cluster with this machine as its first peer"},
		{Path: "join", Short: "Make this machine a peer or a node of a cluster"},
		{Path: "server", Short: "Run one peer of a cluster"},
		{Path: "agent", Short: "Run the agent of a GPU host"},
		{Path: "dev", Short: "Run a whole cluster on this machine, with simulated GPUs"},
		{Path: "demo", Short: "Show a cluster at work, with a leader that is killed in the middle"},
		{Path: "bench", Short: "Measure a whole cluster on this machine"},
		{Path: "simulate", Short: "Simulate a trace, or the cluster's history, with the scheduler in virtual time"},
		{Path: "supervise", Short: "Run one rank of a job, as an agent asks for it", Hidden: true},
		{Path: "cert issue", Short: "Issue the certificate of another member, as a folder to be copied there"},
		{Path: "cert show", Short: "Show the certificate in the data folder of a peer or an agent"},
		{Path: "cert authority", Short: "Print the certificates of the cluster's authority, by which commands on other machines recognize peers"},
		{Path: "cert pin", Short: "Print the hash of the authority's key, by which berth login recognizes the cluster"},
		{Path: "image", Short: "List and remove the container images of jobs on this machine"},
		{Path: "backup", Short: "Make, list and check backups of the cluster"},
		{Path: "cluster recover", Short: "Let one peer go on alone after the loss of a majority"},
		{Path: "config validate", Short: "Check a file, and show which of its settings have no effect"},
		{Path: "config write", Short: "Write settings into a file"},
		{Path: "snapshot verify", Short: "Check a peer's snapshot: checksums, digest, invariants"},
	}
}

// Words that stand before the words of a command: cobra's requests for help and for the completion of a command line.
const (
	wordHelp          = "help"
	wordComplete      = "__complete"
	wordCompletePlain = "__completeNoDesc"
)

// Runs reports whether berthd carries out a command line, which has no name of a program in front: the line calls a
// command of berthd, asks for the help on one, or for the completion of its arguments.
func Runs(args []string) bool {
	if len(args) == 0 {
		return false
	}
	completes := args[0] == wordComplete || args[0] == wordCompletePlain
	if completes || args[0] == wordHelp {
		args = args[1:]
	}
	if completes && len(args) > 0 {
		args = args[:len(args)-1] // the word that is being completed belongs to no command yet
	}
	return slices.ContainsFunc(Commands(), func(c Command) bool {
		words := strings.Fields(c.Path)
		return len(args) >= len(words) && slices.Equal(args[:len(words)], words)
	})
}
