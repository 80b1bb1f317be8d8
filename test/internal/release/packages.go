package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// variable is the form of an environment variable.
var variable = regexp.MustCompile(`^[A-Z]+=`)

const (
	notices      = "THIRD_PARTY_NOTICES"
	nfpmConfig   = "deploy/packages/nfpm.yaml"
	pageLicences = "httpapi/dashboard/dist/licenses.txt"
	maintainer   = "The Berth authors <berth@users.noreply.github.com>"
	packageFiles = "packaged" // in the folder of work: files of the packages that are made
)

// common makes what is the same for all architectures: licences, manual pages, completions, changelogs.
func (r *release) common(ctx context.Context) error {
	args := []string{"run", "./test/internal/notices", "-page", pageLicences}
	for _, p := range programs() {
		args = append(args, "./cmd/"+p.name)
	}
	text, err := r.output(ctx, "go", args...)
	if err != nil {
		return err
	}
	manual, err := filepath.Abs(filepath.Join(r.work, "manual"))
	if err != nil {
		return err
	}
	if _, err := r.output(ctx, "go", "test", "./cmd/berthd", "-count=1", "-vet=off", "-run", "^TestManual$", "-manual", manual); err != nil {
		return err
	}
	entry := fmt.Sprintf("berth (%s) unstable; urgency=medium\n\n  * The changes are in /usr/share/doc/berth/CHANGELOG.md.\n\n -- %s  %s\n",
		r.version.packaged(), maintainer, r.version.time.Format(time.RFC1123Z))
	for name, text := range map[string][]byte{notices: text, "changelog": []byte(entry)} {
		if err := r.compress(name, text); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.out, notices), text, 0o644),
		r.compressAll("man1", filepath.Join(manual, "man", "*.1")),
		r.compressAll("man8", "deploy/packages/*.8"))
}

// compressAll compresses files into a folder of the packages.
func (r *release) compressAll(folder, pattern string) error {
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there are no files %s", pattern)
	}
	if err != nil {
		return err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := r.compress(filepath.Join(folder, filepath.Base(path)), text); err != nil {
			return err
		}
	}
	return nil
}

// compress writes a file of the packages, compressed.
func (r *release) compress(name string, text []byte) error {
	packed, err := compressed(text)
	if err != nil {
		return err
	}
	path := filepath.Join(r.work, packageFiles, name+".gz")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, packed, 0o644)
}

// packages makes deb and rpm of an architecture.
func (r *release) packages(ctx context.Context, arch string) error {
	for packager, number := range map[string]string{"deb": "", "rpm": "1"} { // rpm has no version without the number of its release
		if _, err := r.output(ctx, r.nfpm, "package", "--config", nfpmConfig, "--packager", packager, "--target", r.out+"/",
			"ARCH="+arch, "VERSION="+r.version.packaged(), "RELEASE="+number, "WORK="+r.work); err != nil {
			return err
		}
	}
	return nil
}

// output runs a program with the time of the commit, and returns its output. Arguments of the form NAME=VALUE are variables.
func (r *release) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	environ, words := append(os.Environ(), "SOURCE_DATE_EPOCH="+r.version.epoch()), []string{}
	for _, a := range args {
		if variable.MatchString(a) {
			environ = append(environ, a)
		} else {
			words = append(words, a)
		}
	}
	cmd := exec.CommandContext(ctx, name, words...)
	cmd.Env = environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, words[0], err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes(), nil
}
