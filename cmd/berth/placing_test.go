package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestSubmitPlacing(t *testing.T) {
	f := newFakeAPI(t)
	script := filepath.Join(t.TempDir(), "train.sh")
	text := "#!/bin/sh\n#SBATCH -C zone=a&ssd -w gpu[01-02]\n#BERTH --exclude=gpu03 --gpus A100|H100:2\ntrue\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		args []string
		want wire.Submit
	}{
		{[]string{"-C", "zone=a,!spot", "--", "x"}, wire.Submit{Constraint: "zone=a,!spot"}},
		{[]string{"-g", "8", "--min-gpus", "2", "--", "x"}, wire.Submit{MinGPUs: ptr(2)}},
		{[]string{"--nodelist", "n[1-3]", "-x", "n9,n2", "--", "x"}, wire.Submit{Nodelist: []string{"n1", "n2", "n3"}, Exclude: []string{"n2", "n9"}}},
		{[]string{"-g", "A100|H100:4", "--placement", "spread", "--", "x"}, wire.Submit{GPUType: "A100|H100", Placement: "spread"}},
		{[]string{script}, wire.Submit{Constraint: "zone=a&ssd", Nodelist: []string{"gpu01", "gpu02"}, Exclude: []string{"gpu03"}, GPUType: "A100|H100"}},
		{[]string{"-C", "zone=b", script}, wire.Submit{Constraint: "zone=b", Nodelist: []string{"gpu01", "gpu02"}, Exclude: []string{"gpu03"}, GPUType: "A100|H100"}},
	} {
		if code, _, errs := f.berth(t, append([]string{"submit"}, v.args...)...); code != 0 {
			t.Fatalf("%q: exit %d, %s", v.args, code, errs)
		}
		got := wire.Submit{Constraint: f.got.Constraint, Nodelist: f.got.Nodelist, Exclude: f.got.Exclude, GPUType: f.got.GPUType, Placement: f.got.Placement, MinGPUs: f.got.MinGPUs}
		if !reflect.DeepEqual(got, v.want) {
			t.Errorf("%q asks for %+v, want %+v", v.args, got, v.want)
		}
	}
	for _, bad := range [][]string{{"-C", "zone in a"}, {"-w", "n[2-1]"}, {"-x", "a b"}} {
		if code, _, errs := f.berth(t, append(append([]string{"submit"}, bad...), "--", "x")...); code != cli.ExitUsage || !strings.Contains(errs, "must be") {
			t.Errorf("%q: exit %d, %s", bad, code, errs)
		}
	}
}

func ptr(n int64) *int64 { return &n }

// A job that got fewer GPUs than it asked for says so.
func TestFewerGPUsAreShown(t *testing.T) {
	j := wire.Job{GPUs: 8, MinGPUs: 2}
	if gpusOf(&j) != "8" || wants(&j) != "8 (at least 2)" {
		t.Errorf("waiting it shows %q and %q", gpusOf(&j), wants(&j))
	}
	j.AllocatedGPUs = make([]wire.GPURef, 4)
	if gpusOf(&j) != "4 of 8" || wants(&j) != "4 of 8 (at least 2)" {
		t.Errorf("running it shows %q and %q", gpusOf(&j), wants(&j))
	}
	j.AllocatedGPUs = make([]wire.GPURef, 8)
	if gpusOf(&j) != "8" {
		t.Errorf("with all it shows %q", gpusOf(&j))
	}
}

func TestLabelBodies(t *testing.T) {
	body, err := labelsBody([]string{"zone=a", "ssd", "spot-"})
	if err != nil || !maps.Equal(body.Set, map[string]string{"zone": "a", "ssd": ""}) || !slices.Equal(body.Remove, []string{"spot"}) {
		t.Errorf("asks for %+v (%v)", body, err)
	}
	if _, err := labelsBody([]string{"a b"}); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("taken: %v", err)
	}
	if got := labelsOf(&wire.Node{Labels: wire.Labels{"zone": "a", "ssd": ""}}); got != "ssd, zone=a" {
		t.Errorf("shown as %q", got)
	}
	if _, err := nodeLabels([]string{"zone-"}); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("an agent may take a label away: %v", err)
	}
}
