package arch

import (
	"path"
	"slices"
	"strings"
)

// Edge is what the packages below some folders may not import of this repository. A folder stands for all packages below. Tests are
// free: they compare packages that know one rule.
type Edge struct {
	From  []string
	Never []string // may not be imported; nil: all that is not in But
	But   []string // may be imported all the same
	Why   string
}

// Edges lists the imports that must never be. Go itself forbids cycles of packages, so that all others are free.
func Edges() []Edge {
	shapes := []string{"httpapi/wire", "httpapi/agentwire", "httpapi/endpoint"}
	slurm := []string{
		"slurm/sbatch", "slurm/srun", "slurm/option", "slurm/form", "slurm/format", "slurm/filename", "slurm/hostlist", "slurm/environ",
		"slurm/request", "slurm/container", "slurm/jobfile", "slurm/nearest",
	}
	return []Edge{
		{
			From: []string{"fsm"}, But: []string{"fsm", "files"},
			Why: "the state machine is replayed from a log: it is given all that it needs as values",
		},
		{
			From: []string{"cluster"}, Never: []string{"httpapi", "node", "slurm", "image", "cmd"},
			Why: "a peer keeps and decides, and takes commands from the packages above: declare a small interface and let them plug it in",
		},
		{
			From: []string{"cluster/sched", "cluster/liveness"}, But: []string{"fsm", "cluster/sched", "cluster/liveness"},
			Why: "decisions are functions of a state and a time: pass in what is needed as a value",
		},
		{
			From: []string{"node"}, Never: []string{"cluster", "fsm/state", "fsm/command", "httpapi", "image", "cmd"},
			But: append([]string{"cluster/gossip", "httpapi/client", "httpapi/tunnel"}, shapes...),
			Why: "an agent knows the API of the peers alone, so that both can be upgraded and can fail apart",
		},
		{
			From: []string{"httpapi"}, Never: []string{"node", "image", "cmd"},
			Why: "the API asks agents through their own API (httpapi/agentwire)",
		},
		{
			From: []string{"httpapi/wire"}, But: []string{"httpapi/wire", "slurm/request", "cluster/notify/event"},
			Why: "the shapes of the API are values that every client links",
		},
		{
			From: []string{"slurm"}, But: []string{"slurm", "httpapi/client", "httpapi/wire", "httpapi/tunnel", "image", "files", "fsm/model"},
			Why: "what knows Slurm's words is a client of the API like any other",
		},
		{
			From: slurm, But: append([]string{"image/name"}, slurm...),
			Why: "Slurm's language is read alike by all: pass in what a cluster or a job has as a value",
		},
		{
			From: []string{"files"}, But: []string{"files"},
			Why: "helpers for files, those of /proc and streams know nothing of what these hold",
		},
		{
			From: []string{"image", "trust"}, But: []string{"image", "trust", "files"},
			Why: "images and certificates stand for themselves",
		},
	}
}

// Linked is what a program may not contain, at any depth of its imports.
type Linked struct {
	Program   string
	Never     []string
	But       []string // contained all the same; the list may only shrink
	Libraries []string // of others, all that it may contain; nil: any
	Why       string
}

// Links lists the programs that must stay small.
func Links() []Linked {
	return []Linked{
		{
			Program: "cmd/berth", Never: []string{"fsm/state", "cluster", "node", "httpapi/core", "httpapi/port", "httpapi/dashboard", "image/store"},
			But: []string{"cluster/notify/event"}, // shapes only
			Libraries: []string{
				"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3", "github.com/jedib0t/go-pretty/v6/table",
				"github.com/jedib0t/go-pretty/v6/text", "github.com/google/uuid", "github.com/fxamacker/cbor/v2",
				"golang.org/x/sys/unix", "golang.org/x/term", "github.com/creack/pty", "github.com/coder/websocket",
			},
			Why: "the program starts for each submission: what it links makes each start slower and each copy larger",
		},
		{
			Program: "cmd/berth-supervisor", Never: []string{"fsm/command", "fsm/state", "cluster", "httpapi", "image", "trust"},
			Why: "there is a supervisor for each job of a host, and each holds what it links in memory",
		},
	}
}

// TopFolders lists the folders that the repository's root may hold, in addition to hidden ones.
func TopFolders() []string {
	return []string{"cmd", "fsm", "cluster", "node", "httpapi", "deploy", "test", "docs", "trust", "files", "slurm", "image", "page"}
}

// forTests reports whether a package exists for tests: its name ends in test. Only tests, packages for tests and those below test/ import
// it.
func forTests(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") && !below(dir, "test")
}

// within reports whether a path is one of some folders or lies in one.
func within(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(top string) bool { return below(p, top) })
}

// below reports whether a path is the folder top or lies in it.
func below(p, top string) bool {
	return p == top || strings.HasPrefix(p, top+"/")
}
