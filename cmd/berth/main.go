// Command berth sends requests to a cluster. It is small and starts fast, because it has no code of peers and agents: for the
// commands that need such code, berth replaces itself with the program berthd. Under the name of one of Slurm's programs, such as
// squeue, berth is that program.
package main

import (
	"os"

	"github.com/berth-gpu/berth/cmd/internal/cli/root"
)

func main() { os.Exit(root.RunAs(os.Args[0], os.Args[1:], os.Stdout, os.Stderr)) }
