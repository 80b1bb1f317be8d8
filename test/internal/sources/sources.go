// Package sources has go test notice changes of programs that tests run.
package sources

import (
	"io/fs"
	"os"
	"strings"
)

// Read reads the sources of all programs of the module in a folder. go test remembers which files of the module were opened
// while tests ran, and takes a former result only while none has changed; what the programs are built of would escape that
// otherwise.
func Read(module string) error {
	root := os.DirFS(module)
	return fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			_, err = fs.ReadFile(root, path)
		}
		return err
	})
}
