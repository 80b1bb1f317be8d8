package root

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestSubmitPlacing(t *testing.T) {
	f := newFakeAPI(t)
	script := filepath.Join(t.TempDir(), "train.sh")
	text := "#!/bin/sh\n#SBATCH -C other --gres=gpu:1\n#BERTH --exclude=gpu03 --gpus A100|H100:2 -C zone=a&ssd -w gpu[01-02]\ntrue\n"
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
		got := wire.Submit{
			Constraint: f.got.Constraint, Nodelist: f.got.Nodelist, Exclude: f.got.Exclude, GPUType: f.got.GPUType,
			Placement: f.got.Placement, MinGPUs: f.got.MinGPUs,
		}
		if !reflect.DeepEqual(got, v.want) {
			t.Errorf("%q asks for %+v, want %+v", v.args, got, v.want)
		}
	}
	for _, bad := range [][]string{{"-C", "zone in a"}, {"-w", "n[2-1]"}, {"-x", "a b"}} {
		if code, _, errs := f.berth(t, append(append([]string{"submit"}, bad...), "--", "x")...); code != cmdline.ExitUsage || !strings.Contains(errs, "must be") {
			t.Errorf("%q: exit %d, %s", bad, code, errs)
		}
	}
}

func ptr(n int64) *int64 { return &n }
