package submit

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/run/inherit"
	"github.com/berth-gpu/berth/slurm/sbatch"
)

// Job is a job in Slurm's language that becomes a submission.
type Job struct {
	Command sbatch.Command
	Script  []byte
	Dial    func() (*client.Client, error)                       // for what has to be looked up in the cluster
	Me      func(ctx context.Context, api *client.Client) string // the user that the cluster takes this program for
	Shell   func(to map[string]string) (left []string)           // copies the variables that jobs get, and returns the names of the others
	Say     io.Writer                                            // for notes, each on a line of its own after the prefix
	Prefix  string
	Quiet   bool                             // without notes
	Env     func(name string) (string, bool) // the variables that stand for options
}

// Request returns the submission, and prints its notes.
func (s *Job) Request(ctx context.Context) (*wire.Submit, *sbatch.Options, error) {
	j, err := sbatch.Parse(sbatch.Input{Command: s.Command, Script: s.Script, Env: s.Env, Now: time.Now()})
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("the current folder cannot be determined: %w", err)
	}
	host, _ := os.Hostname() // empty if unknown
	shell := map[string]string{}
	left := s.Shell(shell)
	r, notes, err := Request(&j, &Place{
		Folder: folder, Host: host, Script: s.Command.Script, Env: shell, Read: os.ReadFile,
		Node:      func() (int, int, error) { return s.node(ctx) },
		Namesakes: func(name string) ([]uint64, error) { return s.namesakes(ctx, name) },
	})
	if err != nil {
		return nil, nil, err
	}
	if len(left) > 0 && len(r.Shell) > 0 {
		notes = append(notes, "the job does not get "+strings.Join(left, ", ")+": only names of letters, digits and _, and values in UTF-8, can be passed on")
	}
	if err := inherited(r, j.Options.Propagate); err != nil {
		return nil, nil, err
	}
	for _, text := range notes {
		if !s.Quiet {
			fmt.Fprintf(s.Say, "%s%s\n", s.Prefix, text)
		}
	}
	return r, &j.Options, nil
}

// inherited fills in what a job in Slurm's language has of this process, as a child would: the mask of file modes, and the soft limits that
// the user has changed, or those of --propagate.
func inherited(r *wire.Submit, propagate *string) error {
	r.Umask = inherit.Octal(inherit.Umask())
	which := inherit.Which{}
	if propagate != nil {
		var none bool
		var err error
		if which, none, err = inherit.ParseWhich(*propagate); err != nil {
			return &sbatch.Error{Option: "--propagate", Problem: err.Error()}
		}
		if none {
			return nil
		}
	}
	r.Slurm.Limits = inherit.Limits(which)
	return nil
}

// InUTF8 returns the error of the first word of a command line that is not UTF-8.
func InUTF8(words []string) error {
	for _, word := range words {
		if err := cmdline.UTF8Text(word); err != nil {
			return &sbatch.Error{Where: "the command line", Problem: fmt.Sprintf("%q %v", word, err)}
		}
	}
	return nil
}

// node returns how many GPUs most nodes with GPUs of the cluster have, and how many cores for jobs without GPUs the largest node has.
func (s *Job) node(ctx context.Context) (gpus, cores int, err error) {
	api, err := s.Dial()
	if err != nil {
		return 0, 0, err
	}
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return 0, 0, err
	}
	count := map[int]int{}
	for i := range nodes.Nodes {
		cores = max(cores, int(nodes.Nodes[i].CPURoom))
		n := int(nodes.Nodes[i].GPUCount)
		if n == 0 {
			continue
		}
		if count[n]++; gpus == 0 || count[n] > count[gpus] || count[n] == count[gpus] && n > gpus {
			gpus = n
		}
	}
	return gpus, cores, nil
}

// namesakes returns the user's jobs of a name that have not ended.
func (s *Job) namesakes(ctx context.Context, name string) (ids []uint64, err error) {
	api, err := s.Dial()
	if err != nil {
		return nil, err
	}
	queue, err := api.Queue(ctx, client.QueueQuery{User: s.Me(ctx, api)})
	if err != nil {
		return nil, err
	}
	for _, list := range [][]wire.Job{queue.Running, queue.Queued} {
		for i := range list {
			if list[i].Name != name {
				continue
			}
			id, err := strconv.ParseUint(list[i].ID, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the job %q has no number: %w", list[i].ID, err)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Unwarned prints a note if a job asks for a warning ahead of a time limit that it does not have, or that is over before.
func Unwarned(say io.Writer, prefix string, o *sbatch.Options, j *wire.Job) {
	if w := o.Signal; w.Signal != "" && (j.TimeLimitSeconds == 0 || j.TimeLimitSeconds <= w.Before.Seconds()) {
		fmt.Fprintf(say, "%s--signal: has no effect, because the job has no time limit that is longer: give --time\n", prefix)
	}
}
