package programs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Install makes links with the names of all programs to this program, in a folder that is made if it is missing. Nothing is
// changed if one of them cannot be made because of a file that is in its place.
func Install(w io.Writer, folder string) error {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return fmt.Errorf("the path of this program cannot be found: %w", err)
	}
	return install(w, program, folder)
}

// install is Install of a program.
func install(w io.Writer, program, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // programs for everybody
		return err
	}
	var missing []string
	for _, name := range Names() {
		path := filepath.Join(folder, name)
		there, err := linked(path, program)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return err
		case !there:
			return fmt.Errorf("%s is no link to berth: remove it, or choose another folder", path)
		}
	}
	for _, name := range missing {
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	for _, name := range Names() { // links to a former place of the program
		path := filepath.Join(folder, name)
		if target, err := os.Readlink(path); err != nil || target == program {
			continue
		}
		next := path + ".new"
		if err := os.Symlink(program, next); err != nil {
			return err
		}
		if err := os.Rename(next, path); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s has %d programs of %s\n", folder, len(Names()), program)
	return err
}

// linked reports whether a path is a link to a program of this name, in any folder.
func linked(path, program string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return false, nil
	}
	target, err := os.Readlink(path)
	return err == nil && filepath.Base(target) == filepath.Base(program), err
}
