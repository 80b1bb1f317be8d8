package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const verifyLong = `Read a snapshot of a peer's state, and check that the snapshot is whole and that its state
keeps every invariant: no GPU with two owners, no job that was lost, every count that of its
rows, every reference to a row that exists.

PATH is the data folder of a peer, whose newest snapshot is read, or the folder of one
snapshot. Nothing is changed, and the peer may be running. The command ends with 1 if the
snapshot is damaged or breaks an invariant.`

// verified describes a snapshot that has been checked.
type verified struct {
	Folder      string `json:"folder"`
	Index       uint64 `json:"index"` // of the last log entry that the snapshot holds
	Level       uint32 `json:"feature_level"`
	Incarnation string `json:"incarnation"`
	Digest      string `json:"digest"`
	Jobs        int    `json:"jobs"`
	Tasks       int    `json:"tasks"`
	Nodes       int    `json:"nodes"`
	GPUs        int    `json:"gpus"`
}

func newVerify() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "verify PATH", Short: "Check a peer's snapshot: checksums, digest, invariants", Long: verifyLong,
		Example: "  berth snapshot verify /var/lib/berth\n  berth snapshot verify /var/lib/berth/snapshots/4-1805-1790000000000 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return cmdline.Usage("-o %s: must be json or left out", output)
			}
			v, err := verifySnapshot(args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(v)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is whole and keeps every invariant.\nindex %d, feature level %d, incarnation %s, digest %s\n%d jobs with %d tasks, %d nodes with %d GPUs\n",
				v.Folder, v.Index, v.Level, v.Incarnation, v.Digest, v.Jobs, v.Tasks, v.Nodes, v.GPUs)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`format` of the output: json, or left out for text")
	return cmd
}

// verifySnapshot reads the snapshot at a path and returns what it holds, or in which ways it is
// damaged or breaks invariants.
func verifySnapshot(path string) (v *verified, err error) {
	_, folder, body, err := raftstore.OpenSnapshot(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	s, err := snapshot.Read(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if err := check.State(&s); err != nil {
		return nil, fmt.Errorf("%s: the state at index %d breaks invariants: report this defect:\n%w", folder, s.Index, err)
	}
	set := s.Settings()
	return &verified{
		Folder: folder, Index: s.Index, Level: set.Level, Incarnation: fmt.Sprintf("%x", set.Incarnation), Digest: fmt.Sprintf("%x", s.Digest()),
		Jobs: s.Jobs.Len(), Tasks: s.Tasks.Len(), Nodes: s.Nodes.Len(), GPUs: s.GPUs.Len(),
	}, nil
}
