package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// clientProgram is the program for users, which only sends requests.
const clientProgram = "cmd/berth"

// clientMay returns what the program for users may consist of: packages of this repository, and packages of others.
func clientMay() (rooms, libraries []string) {
	rooms = []string{
		"cmd/berth", "cmd/internal/cli/root", "cmd/internal/cli/daemon", "cmd/internal/cli", "cmd/internal/cli/jobs", "cmd/internal/cli/fleet",
		"cmd/internal/cli/admin", "cmd/internal/cli/certs", "cmd/internal/cli/setup", "cmd/internal/cli/snapshot", "cmd/internal/cli/upgrade", "cmd/internal/cli/examine", "cmd/internal/doctor", "cmd/internal/cli/bundle", "cmd/internal/redact",
		"cmd/internal/build", "cmd/internal/config", "cmd/internal/table", "cmd/internal/terminal",
		"httpapi/client", "httpapi/wire", "httpapi/agentwire", "httpapi/memberwire", "httpapi/pagewire", "httpapi/endpoint", "httpapi/tunnel", "httpapi/auth",
		"httpapi/intake", "httpapi/problem", "httpapi/strict",
		"trust", "fsm/model", "fsm/model/partition", "fsm/model/membership", "fsm/model/dependency", "fsm/model/session", "fsm/private", "fsm/smallfile",
		"fsm/command", "fsm/command/lanes", "fsm/command/target", "fsm/command/valid", "fsm/state", "fsm/state/digest", "fsm/state/ledger", "fsm/state/table",
		"cmd/internal/cli/slurm", "cmd/internal/cli/slurm/start", "cmd/internal/cli/slurm/reach", "cmd/internal/cli/slurm/batch", "cmd/internal/cli/slurm/step", "cmd/internal/cli/slurm/task",
		"cmd/internal/cli/slurm/link", "cmd/internal/cli/slurm/inherit", "cmd/internal/cli/slurm/process", "cmd/internal/cli/slurm/contain", "cmd/internal/cli/slurm/submit", "cmd/internal/cli/slurm/watch", "cmd/internal/cli/slurm/fleet", "cmd/internal/cli/slurm/words",
		"slurm/nearest", "slurm/option", "slurm/hostlist", "slurm/form", "slurm/request", "slurm/jobfile", "slurm/filename", "slurm/format", "slurm/environ", "slurm/sbatch",
		"slurm/srun", "slurm/container", "image/name", "image/lock", "image/root",
		"cluster/sched/admission", "cluster/sched/blocker", "cluster/sched/queue", "cluster/sched/split",
		"node/disk", "node/gpu/judge", "node/runner",
	}
	libraries = []string{
		"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "github.com/jedib0t/go-pretty/v6/table",
		"github.com/jedib0t/go-pretty/v6/text", "github.com/google/uuid", "github.com/fxamacker/cbor/v2", "github.com/tidwall/btree",
		"golang.org/x/sys/unix", "golang.org/x/term", "github.com/creack/pty", "github.com/coder/websocket",
	}
	return rooms, libraries
}

// checkClient follows the imports of the program for users, and finds each that leads to a package that it may not contain.
func checkClient(t *Tree) []Finding {
	const do = "move what the client needs into a package without that import, or move the command to cmd/berthd; widen the lists in " +
		"test/arch/client.go only for what is small and does nothing before main"
	byFolder := map[string][]*File{}
	for _, f := range t.Files {
		if !f.Test {
			byFolder[f.Dir] = append(byFolder[f.Dir], f)
		}
	}
	rooms, libraries := clientMay()
	var fs []Finding
	seen, todo := map[string]bool{clientProgram: true}, []string{clientProgram}
	for len(todo) > 0 {
		folder := todo[0]
		todo = todo[1:]
		for _, f := range byFolder[folder] {
			for _, spec := range f.AST.Imports {
				room, own, allowed := judgeClient(spec, rooms, libraries)
				switch {
				case !allowed:
					fs = append(fs, t.at(spec.Pos(), do, "the program %s would contain %s, by this import of %s", path.Base(clientProgram), importPath(spec), folder))
				case own && !seen[room]:
					seen[room] = true
					todo = append(todo, room)
				}
			}
		}
	}
	return sorted(append(fs, t.unused(seen, rooms)...))
}

// judgeClient reports whether an import is of a package of this repository, which then is its folder, and whether the client
// may contain the package.
func judgeClient(spec *ast.ImportSpec, rooms, libraries []string) (room string, own, allowed bool) {
	imported := importPath(spec)
	if room, own = strings.CutPrefix(imported, Module+"/"); own {
		return room, true, slices.Contains(rooms, room)
	}
	domain, _, _ := strings.Cut(imported, "/")
	return "", false, !strings.Contains(domain, ".") && imported != "C" || slices.Contains(libraries, imported)
}

// unused finds packages of the list that are there and that the client does not contain any more.
func (t *Tree) unused(seen map[string]bool, rooms []string) []Finding {
	var fs []Finding
	for _, room := range rooms {
		there := slices.ContainsFunc(t.Files, func(f *File) bool { return f.Dir == room && !f.Test })
		if there && !seen[room] {
			fs = append(fs, Finding{File: room, What: "the client does not contain this package any more", Do: "take it off the list in test/arch/client.go"})
		}
	}
	return fs
}
