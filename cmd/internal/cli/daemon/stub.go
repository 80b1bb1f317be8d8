package daemon

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
)

// AddTo adds the commands of berthd to the commands of berth, for the help and for completion. become carries one out. A
// command whose parent the root does not have is left out: the root of one command has no others.
func AddTo(root *cobra.Command, become func() error) {
	for _, c := range Commands() {
		stub := &cobra.Command{
			Use: c.Path, Short: c.Short, Hidden: c.Hidden, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return become() },
		}
		above, below, nested := strings.Cut(c.Path, " ")
		if !nested {
			stub.GroupID = cli.GroupRun
			root.AddCommand(stub)
			continue
		}
		at := slices.IndexFunc(root.Commands(), func(p *cobra.Command) bool { return p.Name() == above })
		if at >= 0 {
			stub.Use = below
			root.Commands()[at].AddCommand(stub)
		}
	}
}
