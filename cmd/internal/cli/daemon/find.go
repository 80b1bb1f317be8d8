package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Program is the name of the file of berthd.
const Program = "berthd"

// places returns the files that may be berthd, the first choice first: next to the program at the path self, in the folders
// for programs that users do not call, and in the folders of a search path as in PATH.
func places(self, search string) []string {
	folder := filepath.Dir(self)
	list := []string{
		filepath.Join(folder, Program),
		filepath.Join(folder, "..", "libexec", "berth", Program),
		filepath.Join(folder, "..", "lib", "berth", Program),
	}
	for _, dir := range filepath.SplitList(search) {
		if filepath.IsAbs(dir) { // others depend on the folder in which berth is called, and may belong to another user
			list = append(list, filepath.Join(dir, Program))
		}
	}
	return list
}

// find returns the path of berthd. The error lists all places if none of them has a program.
func find(self, search, version string) (string, error) {
	list := places(self, search)
	for i, path := range list {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
		list[i] += " (a file without the right to be executed)"
	}
	return "", fmt.Errorf("the program %s, which carries out this command, is not installed: looked for %s; install %s of version %s next to %s",
		Program, strings.Join(list, ", "), Program, version, self)
}
