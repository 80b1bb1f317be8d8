package contain

import (
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// binds returns what programs in an image see of the node: the kernel's folders, the job's folders for temporary files, what the programs
// of Slurm need, and what the user names. base is the folder for relative sources; self is the path of this program.
func binds(f *jobfile.File, o *container.Options, base, self, home string) []root.Bind {
	same := func(path string, readOnly bool) root.Bind {
		return root.Bind{Source: path, Target: path, ReadOnly: readOnly, Optional: true}
	}
	all := []root.Bind{
		{Source: "/proc", Target: "/proc"},
		{Source: "/sys", Target: "/sys"},
		{Source: "/dev", Target: "/dev"},
		{Source: "/tmp", Target: "/tmp"},
		same("/etc/resolv.conf", true), same("/etc/hosts", true),
	}
	for _, path := range []string{f.Folder, f.Job.RankDir, os.Getenv("BERTH_CHECKPOINT_DIR")} {
		if path != "" {
			all = append(all, same(path, false))
		}
	}
	if filepath.IsAbs(self) {
		all = append(all, same(self, true))
	}
	if script := f.Command[0]; filepath.IsAbs(script) && within(script, filepath.Dir(f.Folder)) {
		all = append(all, same(script, true))
	}
	if o.Home && home != "" {
		all = append(all, same(home, false))
	}
	for _, m := range o.Mounts {
		source := m.Source
		if !filepath.IsAbs(source) {
			source = filepath.Join(base, source)
		}
		all = append(all, root.Bind{Source: source, Target: m.Target, ReadOnly: m.ReadOnly, Alone: m.Alone})
	}
	return all
}

// within reports whether a path is in a folder.
func within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}
