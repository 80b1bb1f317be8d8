package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/config"
)

// The program for supervisors alone is used only if it is of the agent's version;
// an agent that has none, or no fit one, uses its own.
func TestSupervisorOf(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		mode  os.FileMode
		used  bool
		warns string
	}{
		"fits":            {"#!/bin/sh\n[ \"$*\" = version ] && echo berth-supervisor " + build.Version(), 0o700, true, ""},
		"none":            {"", 0, false, ""},
		"another version": {"#!/bin/sh\necho berth-supervisor v0.0.1", 0o700, false, "install both together"},
		"something else":  {"#!/bin/sh\necho hello", 0o700, false, "install both together"},
		"fails":           {"#!/bin/sh\nexit 3", 0o700, false, "exit status 3"},
		"no program":      {"hello", 0o600, false, "permission denied"},
	} {
		self := filepath.Join(t.TempDir(), "berth")
		small := self + "-supervisor"
		if c.text != "" {
			if err := os.WriteFile(small, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		program, warning := supervisorOf(t.Context(), self)
		want := self
		if c.used {
			want = small
		}
		if len(program) != 2 || program[0] != want || program[1] != "supervise" {
			t.Errorf("%s: %q", name, program)
		}
		if (warning == "") != (c.warns == "") || !strings.Contains(warning, c.warns) {
			t.Errorf("%s: warned %q", name, warning)
		}
	}
}

// Folders that an agent clears are its own: below one that the operator names, no other file is the agent's, and another node may use it.
func TestClearedFoldersAreTheAgents(t *testing.T) {
	t.Parallel()
	usual := rankRules(&config.Ranks{}, "/data", "7f", "/run/x")
	if usual.Checkpoints != "/data/checkpoints" || usual.Images != "/data/images" {
		t.Errorf("without settings: %s and %s", usual.Checkpoints, usual.Images)
	}
	named := rankRules(&config.Ranks{Checkpoints: "/scratch", Images: "/scratch/images"}, "/data", "7f", "/run/x")
	if named.Checkpoints != "/scratch/berth-7f" || named.Images != "/scratch/images/berth-7f" {
		t.Errorf("with settings: %s and %s", named.Checkpoints, named.Images)
	}
}
