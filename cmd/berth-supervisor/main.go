// Command berth-supervisor runs the ranks of jobs, one process for each rank: the same as berth
// supervise, in a program of its own that is small because there are many such processes. It needs
// no cgo and should be built without. An agent uses it if it lies in the folder of the agent's
// program and is of the same version.
//
//	berth-supervisor supervise FOLDER   runs the rank of a folder
//	berth-supervisor supervise --exec   becomes the job that descriptor 3 describes
//	berth-supervisor version
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/node/runner/process"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run carries out a command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "version":
		_, err = fmt.Fprintf(stdout, "berth-supervisor %s\n", build.Version())
	case len(args) == 2 && args[0] == "supervise" && args[1] == "--exec":
		return process.Execute()
	case len(args) == 2 && args[0] == "supervise":
		err = process.Supervise(args[1])
	default:
		fmt.Fprintln(stderr, "berth-supervisor: agents start it with \"supervise\" and the folder of a rank; see berth agent --help")
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "berth-supervisor: %v\n", err)
		return 1
	}
	return 0
}
