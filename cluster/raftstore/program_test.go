package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cluster/upgrade"
)

// The record of the program outlives the process, and a damaged one is made again.
func TestTheRecordOfTheProgram(t *testing.T) {
	t.Parallel()
	o := small(t.TempDir())
	s := open(t, o)
	if _, found := s.Program(); found {
		t.Error("a new folder has a record")
	}
	want := upgrade.Record{Level: 5, Since: 17, Cluster: 4}
	check(t, s.SetProgram(want))
	check(t, s.Close())
	s = open(t, o)
	if got, found := s.Program(); !found || got != want {
		t.Errorf("the record is %+v, %v", got, found)
	}
	check(t, s.Close())
	check(t, os.WriteFile(filepath.Join(o.Dir, programName), []byte("no record"), 0o600))
	s = open(t, o)
	if got, found := s.Program(); found {
		t.Errorf("a damaged record is %+v", got)
	}
	check(t, s.SetProgram(want))
	check(t, s.Close())
}

// A program that does not know the level of its cluster is refused before anything is read or changed.
func TestAProgramThatIsTooOld(t *testing.T) {
	t.Parallel()
	o := small(t.TempDir())
	s := open(t, o)
	check(t, s.SetProgram(upgrade.Record{Level: 6, Cluster: 6}))
	check(t, s.Close())
	before := contents(t, o.Dir)
	o.Level = 6
	check(t, open(t, o).Close())
	o.Level = 5
	var fault *Fault
	_, err := Open(o)
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "the cluster is at feature level 6, and this program knows levels up to 5; nothing was changed") {
		t.Errorf("a program of level 5: %v", err)
	}
	if after := contents(t, o.Dir); after != before {
		t.Error("the folder was changed")
	}
}

// contents returns the files of a folder, but for those of raft, which change when the folder is opened.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{identityName, programName, boltName} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		if name == boltName {
			data = []byte(strings.Repeat("x", len(data)))
		}
		out.WriteString(name + "\n" + string(data) + "\n")
	}
	return out.String()
}
