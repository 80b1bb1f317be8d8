package root

import (
	"bytes"
	"strings"
	"testing"
)

// Under the name of one of Slurm's programs, and after berth slurm, the command line is that program's.
func TestSlurmPrograms(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		program string
		line    string
	}{
		{"/opt/slurm/bin/scontrol", "show hostnames a[1-2]"},
		{"scontrol", "show hostnames a[1-2]"},
		{"/usr/bin/berth", "slurm scontrol show hostnames a[1-2]"},
		{"/usr/bin/berth", "scontrol show hostnames a[1-2]"},
	} {
		var out, errs bytes.Buffer
		if code := RunAs(v.program, strings.Fields(v.line), &out, &errs); code != 0 || out.String() != "a1\na2\n" {
			t.Errorf("%s %s: exit code %d, %s%s", v.program, v.line, code, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := RunAs("scontrol", []string{"foo"}, &out, &errs); code != 1 || errs.String() != "invalid keyword: foo\n" {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	for _, name := range []string{"sbatch", "srun", "salloc", "squeue", "sacct", "sinfo", "scancel", "scontrol"} {
		var short, long bytes.Buffer
		if a, b := RunAs("berth", []string{name, "--version"}, &short, &errs),
			RunAs("berth", []string{"slurm", name, "--version"}, &long, &errs); a != b || short.String() != long.String() || short.Len() == 0 {
			t.Errorf("berth %s: exit code %d and %q, berth slurm %s: %d and %q", name, a, short.String(), name, b, long.String())
		}
	}
	out.Reset()
	if code := RunAs("berth", []string{"slurm", "--help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "squeue") || !strings.Contains(out.String(), "install") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
}
