package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	content "github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// snapshotFolder returns the data folder of a peer with the snapshot of a cluster with a job and a node.
func snapshotFolder(t *testing.T) (dir string, index uint64) {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 2)
	c.Start(c.Place(c.Submit(1)))
	var data strings.Builder
	if err := content.Write(&c.State, &data); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	snapshotOf(t, dir, data.String())
	return dir, c.State.Index
}

// A snapshot is checked from its file alone, and a damaged one is named.
func TestSnapshotVerify(t *testing.T) {
	t.Parallel()
	dir, index := snapshotFolder(t)
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newVerify()
		cmd.SetOut(&out)
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	out, err := run(dir, "-o", "json")
	var v struct {
		Folder            string
		Index             uint64
		Level             uint32 `json:"feature_level"`
		Jobs, Nodes, GPUs int
	}
	if err != nil || json.Unmarshal([]byte(out), &v) != nil || v.Index != index || v.Jobs != 1 || v.Nodes != 1 || v.GPUs != 2 || v.Level == 0 {
		t.Fatalf("verified %s: %v", out, err)
	}
	if out, err := run(v.Folder); err != nil || !strings.Contains(out, "is whole and keeps every invariant") {
		t.Errorf("as text: %q, %v", out, err)
	}
	if _, err := run(dir, "-o", "csv"); err == nil || !strings.Contains(err.Error(), "csv") {
		t.Errorf("an unknown format: %v", err)
	}
	if _, err := run(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no snapshot") {
		t.Errorf("an empty folder: %v", err)
	}
	path := filepath.Join(v.Folder, "state.bin")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged snapshot: %v", err)
	}
}
