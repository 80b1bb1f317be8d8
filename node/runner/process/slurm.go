package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// slurm returns the command line by which a rank of a job in Slurm's language starts, for a script that starts by argv in a
// folder: the program berth, which is the launcher of the script on rank 0 and the server of steps on the other ranks.
func (g *begin) slurm(argv []string, dir string) ([]string, error) {
	if g.rules.Client == "" {
		return nil, errors.New("this node cannot start jobs in Slurm's language: the program berth is not installed next to berthd")
	}
	if err := g.gear.own(filepath.Join(g.folder.Path(), runner.GangFolder), 0o700); err != nil {
		return nil, err
	}
	job := &runner.SlurmJob{
		Client: g.rules.Client, Command: argv, WorkDir: dir, Port: g.port, Now: time.Now(),
		Account: runner.OwnIdentity(),
	}
	if a := g.gear.account; a != nil {
		job.Account = runner.Identity{User: a.Name, UID: int(a.UID), GID: int(a.GID)}
	}
	path, err := g.folder.WriteSlurm(g.record, &g.orders, job)
	g.slurmFile = path
	return []string{g.rules.Client, "slurm-batch", path}, err
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
