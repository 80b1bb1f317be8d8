// Command release writes what is published of a version into a folder:
//
//	go run ./test/internal/release -nfpm PATH -out dist
//
//	berth_VERSION_linux_ARCH.tar.gz       programs, documents, units
//	berth_VERSION_ARCH.deb, berth-VERSION-1.ARCH.rpm
//	berth_VERSION_sbom.cdx.json           what the programs are made of (CycloneDX)
//	THIRD_PARTY_NOTICES                   the licences of all that is linked
//	SHA256SUMS                            of all of these
//
// The same commit and the same tools give the same bytes, in every folder: times are those of the commit. With -programs
// only the programs of this machine are built, into the folder bin.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// release is one run.
type release struct {
	version version
	out     string // folder of what is published
	work    string // folder of what is made on the way
	nfpm    string // the program
	parts   []string
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	r := &release{}
	f.StringVar(&r.out, "out", "dist", "`folder` to write to")
	f.StringVar(&r.nfpm, "nfpm", "", "the `program` nfpm, which makes deb and rpm")
	arches := f.String("arch", "amd64,arm64", "architectures, separated by commas")
	programsOnly := f.Bool("programs", false, "only build the programs of this machine, into bin")
	sumsOnly := f.Bool("sums", false, "only write SHA256SUMS again, and print the sizes")
	if err := f.Parse(args); err != nil {
		return err
	}
	syscall.Umask(0o022) // modes of files are a part of packages
	var err error
	if r.version, err = readVersion(ctx, "."); err != nil {
		return err
	}
	switch {
	case *programsOnly:
		return r.build(ctx, runtime.GOARCH, "bin")
	case *sumsOnly:
		return r.sum(os.Stdout)
	case r.nfpm == "":
		return errors.New("name the program nfpm with -nfpm: make release does that")
	}
	return r.all(ctx, strings.Split(*arches, ","))
}

// all makes everything. An architecture without a C compiler is left out, and named.
func (r *release) all(ctx context.Context, arches []string) error {
	if err := r.clear(); err != nil {
		return err
	}
	if err := r.common(ctx); err != nil {
		return err
	}
	var left []string
	for _, arch := range arches {
		if err := hasCompiler(arch); err != nil {
			left = append(left, fmt.Sprintf("LEFT OUT: linux/%s: %v", arch, err))
			continue
		}
		bin := filepath.Join(r.work, arch, "bin")
		if err := r.build(ctx, arch, bin); err != nil {
			return err
		}
		if err := r.archive(arch, bin); err != nil {
			return err
		}
		if err := r.packages(ctx, arch); err != nil {
			return err
		}
		for _, p := range programs() {
			r.parts = append(r.parts, filepath.Join(bin, p.name))
		}
	}
	if len(r.parts) == 0 {
		return fmt.Errorf("nothing was built: %s", strings.Join(left, "; "))
	}
	if err := r.writeSBOM(); err != nil {
		return err
	}
	if err := r.sum(os.Stdout); err != nil {
		return err
	}
	for _, line := range left {
		fmt.Println(line)
	}
	return nil
}

// clear removes what an earlier run has left.
func (r *release) clear() error {
	r.work = filepath.Join(r.out, "build")
	old := []string{r.work}
	for _, pattern := range []string{"berth_*", "berth-*", "SHA256SUMS", notices} {
		found, err := filepath.Glob(filepath.Join(r.out, pattern))
		if err != nil {
			return err
		}
		old = append(old, found...)
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.MkdirAll(r.work, 0o755)
}
