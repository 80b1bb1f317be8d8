// Package imagetest makes small images for tests, of programs of this host.
package imagetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Make fills a folder with the files of an image: programs of this host in /bin, with the libraries that they need, a list of users with
// root alone, /etc/image and /srv/data. The error says what this host lacks.
func Make(folder string, programs ...string) error {
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		list, err := exec.Command("ldd", path).Output()
		if err != nil {
			return err
		}
		if err := copyFile(path, filepath.Join(folder, "bin", name)); err != nil {
			return err
		}
		for field := range strings.FieldsSeq(string(list)) {
			if !filepath.IsAbs(field) {
				continue
			}
			if err := copyFile(field, filepath.Join(folder, field)); err != nil {
				return err
			}
		}
	}
	for name, text := range map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh", "etc/image": "of the image\n", "srv/data": "1\n"} { //nolint:gosec // a list of users without secrets; order-free: three files
		if err := write(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, data, 0o755)
}

func write(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}
