// Package examine holds the command berth doctor, and what it finds out on a machine of a user. What a peer or a node has in addition
// is in cmd/internal/inspect, a part of berthd.
package examine

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const long = `Examine this machine, in the roles that it has in a cluster: its clock, disks, ports, names,
certificates, control groups, limits, GPUs, accounts and versions, and whether it and each peer
reach the other.

Each line is ok, a warning, a fault, or skipped, which says what could not be looked at. Below are
the remedies. The exit code is 1 if there is a fault, and else 0.

Roles are found by the settings: a peer has a section server with a data folder, a node a section
agent. A machine with neither is that of a user (client), whose login is examined. Peers and nodes
are examined by root, or by the account of the peer.`

// The roles of machines.
const (
	rolePeer   = "peer"
	roleNode   = "node"
	roleClient = "client"
)

// DefaultConfig is the file of settings of peers and agents that the packages install.
const DefaultConfig = "/etc/berth/berth.yaml"

// Members examines this machine as a peer or a node: in which roles, by which file of settings, and with which data folder in place of
// that of the settings, if one is given.
type Members func(ctx context.Context, at *Place, to *doctor.Report)

// Place is where the settings of a machine are.
type Place struct {
	Roles   []string
	File    string // of settings
	DataDir string // in place of that of the settings; empty: that
}

// Program is what a program contributes to the command.
type Program struct {
	Members Members      // nil: it has no code of peers and nodes
	Become  func() error // replaces the program with one that has; nil with Members
}

// flags are those of the command.
type flags struct {
	role, file, data string
}

// Bind adds the flags that say which machine this is.
func (f *flags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.role, "role", "", "examine this machine as a peer, a node or a client, whatever its settings say")
	cmd.Flags().StringVar(&f.file, "config", "", "YAML `file` with the settings of the peer or the agent (default: $BERTH_CONFIG, or "+DefaultConfig+")")
	cmd.Flags().StringVar(&f.data, "data-dir", "", "data `folder` of the peer or the agent (default: that of the settings)")
}

// Finder finds the roles of a machine by flags of a command.
type Finder struct{ flags flags }

// Bind adds the flags.
func (f *Finder) Bind(cmd *cobra.Command) { f.flags.bind(cmd) }

// Find returns the roles of this machine: peer, node, both, or client.
func (f *Finder) Find() (*Place, error) {
	at := &Place{File: f.flags.file, DataDir: f.flags.data}
	switch f.flags.role {
	case rolePeer, roleNode, roleClient:
		at.Roles = []string{f.flags.role}
	case "":
		at.Roles = rolesOf(f.file(), os.Environ())
	default:
		return nil, cmdline.Usage("--role must be peer, node or client, not %q", f.flags.role)
	}
	at.File = f.file()
	return at, nil
}

func (f *Finder) file() string {
	if f.flags.file != "" {
		return f.flags.file
	}
	return DefaultConfig
}

// rolesOf returns the roles for which there are settings.
func rolesOf(file string, environ []string) (out []string) {
	for _, v := range []struct {
		role    string
		program config.Program
	}{{rolePeer, config.OfServer}, {roleNode, config.OfAgent}} {
		// what is wrong is found by the checks of the role
		c, _ := config.Load(config.Source{Program: v.program, File: file, Optional: true, Environ: environ})
		if v.role == rolePeer && c.Server.ID != "" && c.Server.DataDir != "" || v.role == roleNode && c.Agent.Node != "" && c.Agent.DataDir != "" {
			out = append(out, v.role)
		}
	}
	if len(out) == 0 {
		return []string{roleClient}
	}
	return out
}

// Client reports whether the machine is that of a user.
func (p *Place) Client() bool { return p.Roles[0] == roleClient }

// New returns the command.
func New(p Program) *cobra.Command {
	c, find := &cli.Connection{}, &Finder{}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine this machine, and print what is wrong with its remedy", Long: long, Args: cli.NoArgs,
		Example: "  berth doctor\n  sudo berth doctor -o json\n  berth doctor --role client",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.CheckOutput(); err != nil {
				return err
			}
			at, err := find.Find()
			if err != nil {
				return err
			}
			if !at.Client() && p.Members == nil {
				return p.Become()
			}
			report := Report(cmd.Context(), c, at, p.Members)
			if err := c.Print(cmd.OutOrStdout(), report, report.Write); err != nil {
				return err
			}
			if report.Faults > 0 {
				return cmdline.ExitError(cmdline.ExitFailure)
			}
			return nil
		},
	}
	c.BindReading(cmd)
	find.Bind(cmd)
	return cmd
}

// Report examines this machine.
func Report(ctx context.Context, c *cli.Connection, at *Place, members Members) *doctor.Report {
	host, _ := os.Hostname() // for display
	r := &doctor.Report{Host: host, Version: build.Version(), At: time.Now().UTC(), Roles: []doctor.Role{}, Findings: []doctor.Finding{}}
	if at.Client() || members == nil {
		r.Roles = append(r.Roles, doctor.Role{Role: roleClient})
		user(ctx, c, r)
	} else {
		members(ctx, at, r)
	}
	return r
}
