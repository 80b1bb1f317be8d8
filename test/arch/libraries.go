package arch

import (
	"slices"
	"strings"
)

// Library ties a family of third-party packages to the packages that may import it.
type Library struct {
	Prefix string   // import path, of the package or of the folder above it
	Rooms  []string // packages that may import it, in addition to everything below test/; "cmd/..." is all below cmd
	Tests  bool     // _test.go files, and packages for tests, may import it
	Why    string
}

// Libraries lists the third-party packages that tie a package to something. Those
// not named here are small helpers, free to all.
func Libraries() []Library {
	const (
		encoding = "encode in fsm/command or fsm/state/digest, or on the peers' own wire: an encoding is for ever"
		raftOnly = "only fsm and the peer know Raft: the rest is given states and takes commands"
	)
	return append(testLibraries(),
		Library{
			Prefix: "github.com/fxamacker/cbor", Why: encoding,
			Rooms: []string{"fsm/command", "fsm/state/digest", "cluster/call", "cluster/gossip", "httpapi/agentwire"},
		},
		Library{
			Prefix: "github.com/tidwall/btree", Rooms: []string{"fsm/state/table"},
			Why: "use fsm/state/table: how versions of a table are kept apart is its business alone",
		},
		Library{
			Prefix: "github.com/hashicorp/raft", Why: raftOnly,
			Rooms: []string{"fsm", "cluster", "cluster/raftnet", "cluster/raftstore", "cluster/restore"},
		},
		Library{Prefix: "github.com/hashicorp/raft-boltdb", Rooms: []string{"cluster", "cluster/raftstore"}, Why: raftOnly},
		Library{
			Prefix: "go.etcd.io/bbolt", Rooms: []string{"cluster", "cluster/raftstore", "cluster/archive"},
			Why: "keep files on disk in the packages that know how to recover them",
		},
		Library{
			Prefix: "github.com/hashicorp/memberlist", Rooms: []string{"cluster/gossip"},
			Why: "ask cluster/gossip: its hints are all that the rest may rely on",
		},
		Library{Prefix: "github.com/coreos/go-oidc", Rooms: []string{"httpapi/oidc"}, Why: "ask httpapi/oidc, which alone knows how tokens of a provider are verified"},
		Library{Prefix: "github.com/go-jose/go-jose", Rooms: []string{"httpapi/oidc"}, Tests: true, Why: "ask httpapi/oidc, which alone knows how tokens of a provider are verified"},
		Library{Prefix: "golang.org/x/oauth2", Rooms: []string{"httpapi/oidc"}, Why: "ask httpapi/oidc: the client has its sign-ins made by a peer"},
		Library{Prefix: "github.com/gorilla/mux", Rooms: []string{"httpapi/core"}, Tests: true, Why: "leave routing to httpapi/core"},
		Library{
			Prefix: "github.com/danielgtaylor/huma", Why: "leave the API's description to the handlers of httpapi",
			Rooms: []string{
				"httpapi/core", "httpapi/listing", "httpapi/jobs", "httpapi/fleet", "httpapi/members", "httpapi/services", "httpapi/admin", "httpapi/compat",
			},
		},
		Library{
			Prefix: "github.com/NVIDIA/go-nvml", Rooms: []string{"node/gpu/nvml"},
			Why: "use node/gpu: the library needs cgo, and everything but one leaf builds without",
		},
		Library{
			Prefix: "github.com/cilium/ebpf", Rooms: []string{"node/runner/devices"},
			Why: "leave programs of the kernel's to node/runner/devices: supervisors are small because they do not link it",
		},
		Library{
			Prefix: "github.com/prometheus", Rooms: []string{"cluster", "httpapi/core", "httpapi/meter", "cmd/..."}, Tests: true,
			Why: "count in a field of your own and let cluster or httpapi/meter expose it",
		},
	)
}

// testLibraries lists libraries that must not be linked into the program.
func testLibraries() []Library {
	var libs []Library
	for _, prefix := range []string{
		"testing", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp",
		"github.com/anishathalye/porcupine", "golang.org/x/tools",
	} {
		libs = append(libs, Library{
			Prefix: prefix, Tests: true,
			Why: "move the code into a _test.go file, below test/ or into a package named ...test: test helpers are not linked into the program",
		})
	}
	return libs
}

// holds reports whether code of a package, or its test, may import the library.
func (l Library) holds(room string, test bool) bool {
	return l.Tests && (test || forTests(room)) || below(room, "test") || slices.ContainsFunc(l.Rooms, func(allowed string) bool {
		tree, all := strings.CutSuffix(allowed, "/...")
		return allowed == room || all && below(room, tree)
	})
}
