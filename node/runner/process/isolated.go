package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// defaultUmask is the umask of isolated jobs.
const defaultUmask = 0o077

// plan returns the plan of the stage.
func (g *begin) plan(dir string, argv []string) *isolate.Plan {
	p := &isolate.Plan{
		Account: g.setup.account, Bounded: g.record.Job.Spec.MemoryMB > 0, Umask: jobUmask, Dir: dir,
		Argv: isolate.Join(argv), Env: isolate.Join(g.environment()), Parent: os.Getpid(),
	}
	if rules := &g.rules.Isolate; g.setup.account != nil {
		p.Umask, p.MaxOpen, p.MaxCore = defaultUmask, rules.MaxOpen, rules.MaxCore
		if rules.Umask != nil {
			p.Umask = *rules.Umask
		}
	}
	if mask, given := g.umask(); given {
		p.Umask = mask
	}
	return p
}

// isolate adds to the plan what a job under its user's account sees, and gives the job the pipes of its output.
func (g *begin) isolate(p *isolate.Plan, pumps [2]*pump) error {
	for _, pump := range pumps { // so that the job can open /dev/stdout
		if err := pump.in.Chown(int(g.setup.account.UID), int(g.setup.account.GID)); err != nil {
			return err
		}
	}
	rules, v := &g.rules.Isolate, &p.View
	v.Hide, v.Peers, v.Tmp = rules.Hide, g.setup.peers, filepath.Join(g.folder.Path(), runner.TmpFolder)
	if err := makeTmp(v.Tmp); err != nil {
		return err
	}
	v.Keep = append(v.Keep, g.ownFolder())
	if len(g.orders.Secret) > 0 || g.slurmFile != "" {
		v.Keep = append(v.Keep, filepath.Dir(g.folder.Book()))
	}
	if g.slurmFile != "" {
		v.Keep = append(v.Keep, filepath.Dir(g.rules.Client))
		for _, path := range []string{filepath.Dir(g.rules.Daemon), g.setup.images} {
			if filepath.IsAbs(path) && !slices.Contains(v.Keep, path) {
				v.Keep = append(v.Keep, path)
			}
		}
	}
	if g.setup.store != nil && g.setup.store.own {
		v.Keep = append(v.Keep, g.setup.store.base)
	}
	var ids []string
	for _, gpu := range g.record.GPUs {
		ids = append(ids, string(gpu.ID))
	}
	var known bool
	if v.Devices, known = isolate.Host().Others(ids); !known && len(ids) > 0 {
		g.setup.note = "the driver shows no device of its GPUs, so those of others are not hidden from it"
	}
	if !g.record.Job.Script {
		return nil
	}
	var err error
	v.Script = filepath.Join(g.folder.Path(), g.record.ScriptName())
	v.Text, err = os.ReadFile(v.Script) //nolint:gosec // a file of the rank's folder
	return err
}

// makeTmp makes the folder that is /tmp for an isolated job, unless it exists.
func makeTmp(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && //nolint:gosec // in the rank's folder
		!errors.Is(err, os.ErrExist) {
		return err
	}
	return unix.Chmod(path, 0o1777) // no other user can reach it
}
