package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Module is the path that every import of this repository starts with.
const Module = "github.com/berth-gpu/berth"

// Tree is a repository as the laws see it.
type Tree struct {
	Root  string // absolute folder
	Fset  *token.FileSet
	Paths []string            // every file, slash paths from Root, sorted
	Files []*File             // the Go files among them that parse, whatever their build tags
	Typed []*packages.Package // the packages that this platform builds, tests included
}

// File is one parsed Go file.
type File struct {
	Path string // slash path from the root
	Dir  string // its folder: the package's path below the module
	Test bool   // named _test.go
	Src  []byte
	AST  *ast.File
}

// Load reads the repository at root, parses it and type-checks it. Packages
// that do not compile are not an error: the law "types" reports them.
func Load(root string) (*Tree, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	t := &Tree{Root: root, Fset: token.NewFileSet()}
	if t.Paths, err = list(root); err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	if err := t.parse(); err != nil {
		return nil, err
	}
	t.Typed, err = packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedForTest,
		Dir: root, Fset: t.Fset, Tests: true, BuildFlags: buildFlags(),
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("load the packages of %s: %w", root, err)
	}
	return t, nil
}

// parse fills Files. A file that does not parse is left to the law "types".
func (t *Tree) parse() error {
	for _, p := range t.Paths {
		if path.Ext(p) != ".go" || strings.Contains("/"+p, "/testdata/") {
			continue
		}
		name := filepath.Join(t.Root, filepath.FromSlash(p))
		src, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a Go file: %w", err)
		}
		tree, err := parser.ParseFile(t.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		t.Files = append(t.Files, &File{
			Path: p, Dir: path.Dir(p), Test: strings.HasSuffix(p, "_test.go"), Src: src, AST: tree,
		})
	}
	return nil
}

// list names the files that belong to the repository: what git tracks or would
// track, or, in a copy without git, everything outside hidden folders.
func list(root string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return walk(root)
	}
	// A checkout may belong to another user than that of the test.
	cmd := exec.Command("git", "-C", root, "-c", "safe.directory="+root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", withStderr(err))
	}
	var paths []string
	for p := range bytes.SplitSeq(out, []byte{0}) {
		info, err := os.Lstat(filepath.Join(root, string(p)))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link
		}
		paths = append(paths, string(p))
	}
	slices.Sort(paths)
	return slices.Compact(paths), readFolders(root, paths)
}

// withStderr adds a failed command's standard error.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// readFolders opens every folder of the tree. The output of git is hidden from the cache of go
// test; the folders read here make it run the laws again when a file appears.
func readFolders(root string, paths []string) error {
	read := make(map[string]bool)
	for _, p := range paths {
		for dir := path.Dir(p); !read[dir]; dir = path.Dir(dir) {
			read[dir] = true
			if _, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// walk returns every regular file below root by slash path.
func walk(root string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return paths, err
}

// rel converts a file's name to its slash path from the root. A name outside the tree is returned
// unchanged.
func (t *Tree) rel(name string) string {
	if rel, err := filepath.Rel(t.Root, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}
