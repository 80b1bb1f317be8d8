package sbatch

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/option"
)

// Allocation is a command line of salloc.
type Allocation struct {
	Command // Script and Arguments are the program that runs on this machine; empty: a shell

	NoShell    bool          // the allocation is left to others
	Immediate  time.Duration // how long the allocation may wait for its resources; 0: for ever; below 0: not at all
	KillSignal string        // what the program gets if the allocation ends before it, such as TERM; empty: nothing, a shell HUP
	Quiet      bool
	Help       string // "help", "usage" or "version": salloc prints that and ends
}

// batchOnly are the options of sbatch that salloc does not have, because there is no script whose files and end they are about.
const batchOnly = "array batch error export export-file ignore-pbs input open-mode output parsable requeue no-requeue test-only wait wrap"

// allocationOptions are the options of salloc that sbatch does not have.
func allocationOptions() []option.Option {
	return []option.Option{
		{Name: "bell", Takes: TakesNone},
		{Name: "no-bell", Takes: TakesNone},
		{Name: "no-shell", Takes: TakesNone},
		{Name: "immediate", Short: 'I', Takes: TakesOptional, Form: "SECONDS"},
		{Name: "kill-command", Short: 'K', Takes: TakesOptional, Form: "SIGNAL"},
	}
}

// ParseAllocation reads the words of a command line of salloc after the program's name.
func ParseAllocation(args []string) (Allocation, error) {
	own, left := allocationOptions(), strings.Fields(batchOnly)
	set := slices.Clone(own)
	for _, o := range Table() {
		if !slices.Contains(left, o.Name) {
			set = append(set, option.Option{Name: o.Name, Others: o.Others, Short: o.Short, Takes: o.Takes, Form: o.Form})
		}
	}
	x := &index{set: option.NewSet("salloc", set)}
	given, rest, err := x.parse(args, commandLine)
	if err != nil {
		return Allocation{}, err
	}
	var a Allocation
	for _, g := range given {
		if !slices.ContainsFunc(own, func(o option.Option) bool { return o.Name == g.Option }) {
			a.Given = append(a.Given, g)
		}
		if err := a.set(g); err != nil {
			return Allocation{}, err
		}
	}
	if len(rest) > 0 {
		a.Script, a.Arguments = rest[0], rest[1:]
	}
	return a, nil
}

// set keeps what an option says to salloc itself.
func (a *Allocation) set(g Given) error {
	switch g.Option {
	case "no-shell":
		a.NoShell = true
	case "quiet":
		a.Quiet = true
	case "help", "usage", "version":
		a.Help = g.Option
	case "kill-command":
		a.KillSignal = "TERM"
		if g.Value != "" {
			a.KillSignal = strings.TrimPrefix(strings.ToUpper(g.Value), "SIG")
		}
		if form.SignalNumber(a.KillSignal) == 0 {
			return &Error{Where: g.Where, Option: "--" + g.Option, Problem: "there is no signal " + clip(g.Value) + ": write a name such as TERM"}
		}
	case "immediate":
		a.Immediate = -1
		if g.Value == "" || g.Value == "0" {
			return nil
		}
		n, err := form.ParseCount(g.Value, 1)
		if err != nil {
			return &Error{Where: g.Where, Option: "--" + g.Option, Problem: err.Error()}
		}
		a.Immediate = time.Duration(n) * time.Second
	}
	return nil
}
