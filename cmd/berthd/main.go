// Command berthd runs every part of Berth that is no request to a cluster: peers, agents, whole clusters on one machine, and
// what works on the data folders of members. Users call it by the name berth: the program berth replaces itself with berthd.
//
// What commands have in common is in cmd/internal/cli; cli/setup, cli/certs, cli/sim and cli/images have commands of this program, too.
//
// Failures and exit codes are those of berth (cmd/internal/cli/root), and 6 for a peer that was removed from its cluster.
package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/backups"
	"github.com/berth-gpu/berth/cmd/internal/cli/bundle"
	"github.com/berth-gpu/berth/cmd/internal/cli/certs"
	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/cli/images"
	"github.com/berth-gpu/berth/cmd/internal/cli/setup"
	"github.com/berth-gpu/berth/cmd/internal/cli/sim"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
)

func main() {
	name := daemon.Name
	if filepath.Base(os.Args[0]) == daemon.Program {
		name = daemon.Program
	}
	os.Exit(run(name, os.Args[1:], os.Stdout, os.Stderr))
}

// run carries out a command line and returns the exit code. name is the name under which this program was called.
func run(name string, args []string, stdout, stderr io.Writer) int {
	if err := daemon.CheckCaller(); err != nil {
		return cli.Fail(err, stderr)
	}
	return cli.Execute(newRoot(name), args, stdout, stderr)
}

func newRoot(name string) *cobra.Command {
	root := cli.NewRoot(name, "Berth's peers, agents and their tools; berth calls this program")
	cli.AddGroup(root, cli.GroupUse, cli.Parent("cluster", "Recover the cluster", "", newRecover()))
	cli.AddGroup(root, cli.GroupRun, setup.ForMembers(&backups.Restorer{})...)
	cli.AddGroup(root, cli.GroupRun, newServer(), newAgent(), newDev(), newDemo(), newBench(), sim.New(), images.New(), backups.New(),
		certs.OnFolders(), examine.New(examine.Program{Members: inspect.Members}),
		bundle.New(bundle.Program{Program: examine.Program{Members: inspect.Members}, Collect: inspect.Collect}),
		cli.Parent("config", "Check and write a file of settings", "", newValidate(), newWrite()),
		cli.Parent("snapshot", "Check a peer's snapshot", "", newVerify()))
	root.AddCommand(newSupervise(), cli.NewVersion(daemon.Program))
	root.InitDefaultHelpCmd() // now, so that strictly also covers the library's own commands
	root.InitDefaultCompletionCmd()
	cli.Strictly(root)
	return root
}
