package process

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Find returns the path of a program by the PATH of an environment, for a process that starts in a folder. The error is an error number.
func Find(program string, env []string, dir string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	search := ""
	for _, pair := range env {
		if value, found := strings.CutPrefix(pair, "PATH="); found {
			search = value
		}
	}
	failure := error(unix.ENOENT)
	for _, folder := range filepath.SplitList(search) {
		path := filepath.Join(folder, program)
		if !filepath.IsAbs(path) {
			path = "./" + path
		}
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		info, err := os.Stat(full)
		switch {
		case err != nil || info.IsDir():
		case unix.Access(full, unix.X_OK) == nil:
			return path, nil
		default:
			failure = unix.EACCES
		}
	}
	return "", failure
}
