package start

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// TestEnvironment checks that the program of salloc has the variables of the allocation, and none of a job in which salloc was called.
func TestEnvironment(t *testing.T) {
	t.Setenv("SLURM_LABELIO", "1")
	t.Setenv("PLAIN", "x")
	a := &allocation{file: jobfile.File{Job: environ.Job{ID: 9, Name: "interactive", TmpDir: "/tmp", Nodes: []environ.Node{{Name: "n1", Tasks: 2, Cores: 4}}}}}
	for _, v := range []struct {
		job        bool
		want, gone []string
	}{
		{false, []string{"PLAIN=x", "SLURM_LABELIO=1", "SLURM_JOB_ID=9", "SLURM_JOB_NODELIST=n1", "SLURM_TASKS_PER_NODE=2"}, []string{"SLURM_TMPDIR=", "SLURM_NODEID="}},
		{true, []string{"PLAIN=x", "SLURM_JOB_ID=9"}, []string{"SLURM_LABELIO=", "SLURM_STEP_ID=", "SLURM_JOB_ID=7", jobfile.Variable + "="}},
	} {
		if v.job {
			t.Setenv(jobfile.Variable, "/no/file")
			t.Setenv("SLURM_JOB_ID", "7")
			t.Setenv("SLURM_STEP_ID", "0")
		}
		env := a.environment()
		for _, pair := range v.want {
			if !slices.Contains(env, pair) {
				t.Errorf("in a job: %t: there is no %s", v.job, pair)
			}
		}
		for _, prefix := range v.gone {
			if i := slices.IndexFunc(env, func(pair string) bool { return strings.HasPrefix(pair, prefix) }); i >= 0 {
				t.Errorf("in a job: %t: there is %s", v.job, env[i])
			}
		}
	}
}
