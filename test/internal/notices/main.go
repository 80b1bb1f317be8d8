// Command notices prints the licences of everything that is linked into packages and is not part of
// this module, the standard library of Go included, and those of the page for browsers, which its build lists:
//
//	go run ./test/internal/notices -page httpapi/dashboard/dist/licenses.txt ./cmd/berth ./cmd/berthd ./cmd/berth-supervisor
//
// It reads the module cache, and fails on a module without a licence file.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	page := flag.String("page", "", "`file` with the licences of what the page contains")
	flag.Parse()
	if err := run(flag.Args(), *page); err != nil {
		fmt.Fprintf(os.Stderr, "notices: %v\n", err)
		os.Exit(1)
	}
}

func run(packages []string, page string) error {
	if len(packages) == 0 {
		return errors.New("name the packages, such as ./cmd/berth")
	}
	modules, err := linked(packages)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "The programs contain the following software of others, under the licences below.")
	for _, m := range modules {
		files, err := m.licences()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n%s %s\n", strings.Repeat("=", 80), m.path, m.version)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "\n--- %s\n\n%s\n", m.name(file), bytes.TrimSpace(text))
		}
	}
	if page != "" {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\nThe page for browsers\n\n%s\n", strings.Repeat("=", 80), bytes.TrimSpace(text))
	}
	return out.Flush()
}

// module is a module of which packages are linked.
type module struct {
	path, version string
	root          string   // its folder
	folders       []string // of the packages
}

// linked returns the modules that packages need, by path, and the standard library first.
func linked(packages []string) ([]module, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	list, err := goTool(append([]string{"list", "-deps", "-f", format}, packages...)...)
	if err != nil {
		return nil, err
	}
	version, err := goTool("env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	release, root, _ := strings.Cut(strings.TrimSpace(version), "\n")
	modules := []module{{path: "The Go standard library", version: release, root: root, folders: []string{root}}}
	lines := strings.Split(list, "\n")
	slices.Sort(lines)
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			continue // of this module, or of the standard library
		}
		if last := &modules[len(modules)-1]; last.path != fields[0] {
			modules = append(modules, module{path: fields[0], version: fields[1], root: fields[2]})
		}
		last := &modules[len(modules)-1]
		last.folders = append(last.folders, fields[3])
	}
	return modules, nil
}

func goTool(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// licences returns the files with terms in the folders of the packages and in those above them, up to the
// folder of the module.
func (m *module) licences() ([]string, error) {
	var files []string
	for _, dir := range m.folders {
		for ; ; dir = filepath.Dir(dir) {
			found, err := terms(dir)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			if len(dir) <= len(m.root) {
				break
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s %s has no licence file in %s", m.path, m.version, m.root)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// terms returns the files of one folder whose names are those of licences and notices.
func terms(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		isTerms := slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
		if isTerms && e.Type().IsRegular() && filepath.Ext(name) != ".GO" {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// name returns a file's path below the folder of the module.
func (m *module) name(file string) string {
	if rel, err := filepath.Rel(m.root, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(file)
}
