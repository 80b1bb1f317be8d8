package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// modulePath is the path of this module.
const modulePath = "github.com/berth-gpu/berth"

// program is one program of a release.
type program struct {
	name string
	cgo  bool // it loads the driver's library
}

func programs() []program {
	return []program{{name: "berth"}, {name: "berthd", cgo: true}, {name: "berth-supervisor"}}
}

// compiler returns the C compiler that berthd needs for an architecture, and the packages of Debian that contain it.
func compiler(arch string) (command, pkg string) {
	if arch == runtime.GOARCH {
		return "gcc", "gcc libc6-dev"
	}
	switch arch {
	case "arm64":
		return "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
	case "amd64":
		return "x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross"
	}
	return "", ""
}

// hasCompiler returns an error if berthd cannot be built for an architecture here.
func hasCompiler(arch string) error {
	command, pkg := compiler(arch)
	if command == "" {
		return fmt.Errorf("%q is no architecture of a release: amd64 and arm64 are", arch)
	}
	if _, err := exec.LookPath(command); err != nil {
		return fmt.Errorf("the C compiler %s is missing: apt-get install %s", command, pkg)
	}
	return nil
}

// build builds the programs for an architecture into a folder, without symbols and alike in every folder.
func (r *release) build(ctx context.Context, arch, dir string) error {
	command, _ := compiler(arch)
	for _, p := range programs() {
		path := filepath.Join(dir, p.name)
		cgo := "CGO_ENABLED=0"
		if p.cgo {
			cgo = "CGO_ENABLED=1"
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -buildid= -X "+modulePath+"/cmd/internal/build.released="+r.version.name, "-o", path, "./cmd/"+p.name)
		cmd.Env = append(os.Environ(), cgo, "GOOS=linux", "GOARCH="+arch, "CC="+command, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0",
			"CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s for %s: %w", p.name, arch, err)
		}
		fmt.Printf("built %s (linux/%s, %s)\n", path, arch, r.version.name)
	}
	return nil
}
