// Package jobfile is the file by which the programs inside a job in Slurm's language know the job: the launcher of the batch
// script, the servers of steps on all nodes, and srun. The node's agent writes it into the folder of each rank, for the job's
// account only; BERTH_SLURM names it.
//
//berth:single
package jobfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/request"
)

// Variable is the environment variable that names the file.
const Variable = "BERTH_SLURM"

// Socket is the name of the socket of the job's server of steps, in the folder of each rank ([File.Folder]).
const Socket = "steps"

// Tunnels is the name of the socket by which programs outside of the job reach the server of steps, in the same folder.
const Tunnels = "tunnels"

// The signal by which the supervisor of a rank lets the launcher send the job's warning ([File.Signal]): a real-time signal, which no job
// names by --signal. So a warning is no stop signal, no checkpoint signal and no signal of a user, although it may have the number of one.
const (
	WarnName   = "RTMIN+6"
	WarnNumber = 40 // in C libraries, whose SIGRTMIN is 34
)

// File describes a job to the programs of one of its ranks.
type File struct {
	Job     environ.Job     `json:"job"` // of nodes other than this one the numbers of GPUs are not known: GPUs is empty there
	Request request.Request `json:"request"`

	Rank   int    `json:"rank"`             // place of this node in Job.Nodes; 0 runs the script
	Ranks  []Rank `json:"ranks"`            // one for each of Job.Nodes
	Secret string `json:"secret,omitempty"` // of this attempt, by which its ranks recognize each other; a job on one node has none

	Command []string `json:"command"`          // of the script: a program with its arguments
	WorkDir string   `json:"workdir"`          // that the script starts in; patterns of files are relative to it
	Folder  string   `json:"folder"`           // of this rank, which goes with the attempt: for sockets and files of the launcher
	Signal  string   `json:"signal,omitempty"` // the warning ahead of the time limit, such as USR1, sent when WarnNumber comes; empty: none
	Stop    string   `json:"stop,omitempty"`   // the stop signal, such as INT; empty: TERM
	Grace   int64    `json:"grace"`            // milliseconds from the stop signal to the end of all processes

	Daemon string `json:"daemon,omitempty"` // path of the program berthd, which fetches images; empty: the node runs none
	Images string `json:"images,omitempty"` // folder of the account for images
}

// Rank is where the rank of a node is reached.
type Rank struct {
	Address string `json:"address"`
	Port    uint16 `json:"port"` // that was free when the rank got ready: the one of rank 0 is for the server of steps
}

// Write makes the file, with access for its owner only: a number of a user and one of a group, or nil for those of this process. The path
// must be free.
func (f *File) Write(path string, owner *[2]int) error {
	data, err := json.MarshalIndent(f, "", "  ") //nolint:gosec // the secret is for the owner of the file
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // a path of the agent's
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if owner != nil { // by the open file: the folder is the account's, which may have put another one into its place
		err = errors.Join(err, file.Chown(owner[0], owner[1]))
	}
	return errors.Join(err, file.Close())
}

// Read reads a file that Write made.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a path of the agent's
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Rank < 0 || f.Rank >= len(f.Job.Nodes) || len(f.Ranks) != len(f.Job.Nodes) || len(f.Command) == 0 {
		return nil, fmt.Errorf("%s describes no rank of a job: rank %d of %d nodes", path, f.Rank, len(f.Job.Nodes))
	}
	return f, nil
}
