package contain

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/container"
)

// ofJob are the beginnings of the names of variables that are those of the job in every image.
const ofJob = "SLURM SRUN BERTH_ CUDA_VISIBLE_DEVICES"

// defaultPath is PATH of an image that sets none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment returns the variables of a program in an image: those of the job; those of the image in place of others with the same names,
// but for variables of the job and those that the user names. bin is the folder with Slurm's programs, first in PATH. driver is whether the
// libraries of the driver were mounted.
func environment(job, image []string, o *container.Options, bin string, driver bool) []string {
	vars := map[string]string{}
	for _, pair := range job {
		if name, value, has := strings.Cut(pair, "="); has && (name != "PATH" && name != "LD_LIBRARY_PATH" || slices.Contains(o.Env, name)) {
			vars[name] = value
		}
	}
	for _, pair := range image {
		name, value, has := strings.Cut(pair, "=")
		_, set := vars[name]
		if !has || set && (slices.Contains(o.Env, name) || belongs(name)) {
			continue
		}
		vars[name] = value
	}
	if vars["PATH"] == "" {
		vars["PATH"] = defaultPath
	}
	vars["PATH"] = join(vars["PATH"], bin, true)
	if driver {
		vars["PATH"] = join(vars["PATH"], root.DriverPrograms, false)
		vars["LD_LIBRARY_PATH"] = join(vars["LD_LIBRARY_PATH"], root.DriverLibraries, false)
	}
	if o.Root {
		vars["HOME"], vars["USER"], vars["LOGNAME"] = "/root", "root", "root"
	}
	all := make([]string, 0, len(vars))
	for name, value := range vars { // order-free: sorted below
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// belongs reports whether a variable is one of the job's in every image.
func belongs(name string) bool {
	for start := range strings.FieldsSeq(ofJob) {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// join adds a folder to a list of folders, unless the list has it.
func join(list, folder string, first bool) string {
	if folder == "" || slices.Contains(strings.Split(list, ":"), folder) {
		return list
	}
	switch {
	case list == "":
		return folder
	case first:
		return folder + ":" + list
	}
	return list + ":" + folder
}
