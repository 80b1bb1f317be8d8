package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// environment returns the job's environment: of the agent's own only the kept variables, then the user's
// identity, the environment of the submission, Berth's variables, and the job's own; each overrides those before. The nonce comes last.
func (g *begin) environment() []string {
	env := inherited()
	if g.setup.account != nil {
		env = append(env, g.setup.account.Environment()...)
	}
	env = append(env, runner.Variables(string(g.env.Submit))...)
	env = append(env, g.variables()...)
	if g.slurmFile != "" {
		env = append(env, g.slurmVariables(env)...)
	}
	env = append(env, runner.Variables(string(g.env.Job))...)
	return last(append(env, runner.NonceVariable+"="+g.record.Nonce))
}

// ownFolder returns the path of the job's own folder. The files that Berth needs of the rank are elsewhere: a
// job may remove its folder.
func (p *place) ownFolder() string { return filepath.Join(p.folder.Path(), runner.WorkFolder) }

// variables returns Berth's own variables.
func (g *begin) variables() []string {
	env := append(identity(g.record), assign("BERTH_FOLDER", g.ownFolder())...)
	env = append(env, array(&g.record.Job.Spec, g.record.Rank.Task)...)
	env = append(env, devices(g.record.GPUs)...)
	meet := meeting(g.record, g.orders.Gang, g.port)
	if g.slurmFile != "" { // launchers such as torchrun take the others for their own options, which such scripts do not expect
		meet = slices.DeleteFunc(meet, func(e string) bool { return !strings.HasPrefix(e, "BERTH_") })
	}
	env = append(env, meet...)
	if len(g.orders.Secret) > 0 {
		env = append(env, assign("BERTH_GANG", g.folder.Book())...)
	}
	return append(env, g.setup.store.variables()...)
}

// slurmVariables returns the variables by which such a job finds its description, and Slurm's programs first in PATH.
func (g *begin) slurmVariables(env []string) []string {
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, e := range env {
		if value, is := strings.CutPrefix(e, "PATH="); is {
			path = value
		}
	}
	return assign(jobfile.Variable, g.slurmFile, "PATH", g.folder.SlurmBin()+string(os.PathListSeparator)+path)
}
