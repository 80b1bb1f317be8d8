package arch

import (
	"slices"
	"strings"
)

// Room is one package of the repository and what it may import from it.
type Room struct {
	Path  string   // folder below the module
	Level int      // imports run to strictly lower levels
	May   []string // rooms that it may import; nil: none
	Any   bool     // may import every room below its level
	Bare  bool     // may import the standard library only
}

// TestLevel is the level of everything below test/, above all rooms.
const TestLevel = 28

// stateRooms returns the imports of a room that reads the state and writes commands.
func stateRooms(more ...string) []string {
	return append([]string{"fsm/model", "fsm/model/membership", "fsm/model/dependency", "fsm/model/session", "fsm/command", "fsm/command/lanes", "fsm/state", "fsm/state/ledger"}, more...)
}

// scheduler returns the rooms of the scheduler that plan from a state.
func scheduler() []string {
	return []string{
		"cluster/sched/blocker", "cluster/sched/admission", "cluster/sched/queue", "cluster/sched/place", "cluster/sched/reserve", "cluster/sched/pass",
		"cluster/sched/cores", "cluster/sched/preemption", "cluster/sched/search", "cluster/sched", "cluster/sched/forecast", "cluster/sched/explain",
	}
}

// schedRooms returns the imports of a part of the scheduler.
func schedRooms(more ...string) []string {
	return stateRooms(append([]string{"cluster/sched/blocker", "cluster/sched/admission", "cluster/sched/queue"}, more...)...)
}

// Rooms returns the packages of the repository from the lowest level up.
func Rooms() []Room {
	return slices.Concat(stateFloor(), slurmFloor(), imageFloor(), clusterFloor(), apiFloor(), nodeFloor(), cmdFloor())
}

// slurmFloor returns the rooms that know Slurm's words. They are pure and small: a client that has nothing else links them.
func slurmFloor() []Room {
	return []Room{
		{Path: "slurm/nearest", Level: 0, Bare: true},
		{Path: "slurm/option", Level: 1, Bare: true, May: []string{"slurm/nearest"}},
		{Path: "slurm/hostlist", Level: 0, Bare: true},
		{Path: "slurm/form", Level: 1, Bare: true},
		{Path: "slurm/filename", Level: 0, Bare: true},
		{Path: "slurm/format", Level: 0, Bare: true},
		{Path: "slurm/container", Level: 0, Bare: true},
		{Path: "slurm/request", Level: 1, Bare: true, May: []string{"slurm/container"}},
		{Path: "slurm/environ", Level: 2, Bare: true, May: []string{"slurm/hostlist", "slurm/request"}},
		{Path: "slurm/jobfile", Level: 3, Bare: true, May: []string{"slurm/environ", "slurm/request"}},
		{Path: "slurm/sbatch", Level: 2, Bare: true, May: []string{"image/name", "slurm/container", "slurm/hostlist", "slurm/form", "slurm/option"}},
		{Path: "slurm/srun", Level: 3, Bare: true, May: []string{"image/name", "slurm/container", "slurm/hostlist", "slurm/form", "slurm/option", "slurm/environ"}},
	}
}

// imageFloor returns the rooms of container images. Their names are known to a client that has nothing else; what pulls and
// unpacks images is large, and in berthd only.
func imageFloor() []Room {
	return []Room{
		{Path: "image/name", Level: 0, Bare: true},
		{Path: "image/root", Level: 0},
		{Path: "image/lock", Level: 0, Bare: true},
		{Path: "image/store", Level: 1, May: []string{"image/name", "image/lock", "fsm/private"}},
	}
}

func stateFloor() []Room {
	const state, tx = "fsm/state", "fsm/state/tx"
	return []Room{
		{Path: "fsm/model", Level: 0, Bare: true},
		{Path: "fsm/model/partition", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/model/membership", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/model/dependency", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/model/session", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/smallfile", Level: 0, Bare: true},
		{Path: "fsm/private", Level: 0, Bare: true},
		{Path: "fsm/sealing", Level: 1, May: []string{"fsm/model", "fsm/private", "fsm/smallfile"}},
		{Path: "trust", Level: 1, May: []string{"fsm/private", "fsm/smallfile"}},
		{Path: "fsm/command/valid", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/command/lanes", Level: 0, Bare: true},
		{Path: "fsm/command/target", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/command", Level: 2, May: []string{"fsm/model", "fsm/command/lanes", "fsm/model/membership", "fsm/model/dependency", "fsm/command/valid", "fsm/command/target"}},
		{Path: "fsm/state/table", Level: 1},
		{Path: "fsm/state/ledger", Level: 1, May: []string{"fsm/model"}},
		{Path: "fsm/state/digest", Level: 3, May: []string{"fsm/model", "fsm/command"}},
		{Path: state, Level: 4, May: []string{"fsm/model", "fsm/model/membership", "fsm/model/dependency", "fsm/model/session", "fsm/command", "fsm/state/table", "fsm/state/ledger", "fsm/state/digest"}},
		{Path: tx, Level: 5, May: stateRooms("fsm/command/target", "fsm/state/table", "fsm/state/digest")},
		{Path: "fsm/state/snapshot", Level: 6, May: stateRooms(tx, "fsm/state/digest")},
		{Path: "fsm/state/check", Level: 6, May: stateRooms(tx, "fsm/state/table")},
		{Path: "fsm/state/apply/limits", Level: 6, May: stateRooms(tx)},
		{Path: "fsm/state/apply/placement", Level: 7, May: stateRooms(tx, "fsm/state/apply/limits")},
		{Path: "fsm/state/apply/services", Level: 8, May: stateRooms(tx, "fsm/state/apply/limits", "fsm/state/apply/placement")},
		{Path: "fsm/state/apply/bookings", Level: 8, May: stateRooms(tx, "fsm/state/apply/placement")},
		{Path: "fsm/state/apply/jobs", Level: 8, May: stateRooms(tx, "fsm/state/apply/limits", "fsm/state/apply/placement")},
		{Path: "fsm/state/apply/fleet", Level: 9, May: stateRooms(tx, "fsm/state/apply/placement", "fsm/state/apply/services")},
		{Path: "fsm/state/apply/admin", Level: 9, May: stateRooms(tx, "fsm/state/apply/limits", "fsm/state/apply/bookings", "fsm/state/apply/jobs", "fsm/state/apply/placement")},
		{Path: "fsm/state/apply", Level: 10, May: stateRooms(tx, "fsm/state/digest", "fsm/state/apply/limits", "fsm/state/apply/placement",
			"fsm/state/apply/services", "fsm/state/apply/bookings", "fsm/state/apply/jobs", "fsm/state/apply/fleet", "fsm/state/apply/admin")},
		{Path: "fsm/state/statetest", Level: 11, May: stateRooms("fsm/state/check", "fsm/state/apply")},
		{Path: "fsm", Level: 16, May: stateRooms("fsm/state/table", "fsm/state/check", "fsm/state/apply", "fsm/state/snapshot")},
	}
}

func clusterFloor() []Room {
	return []Room{
		{Path: "cluster/sched/virtual", Level: 11, May: stateRooms("fsm/state/apply")},
		{Path: "cluster/sched/blocker", Level: 11, May: []string{"fsm/model", "fsm/model/dependency", "fsm/state"}},
		{Path: "cluster/sched/admission", Level: 12, May: stateRooms("cluster/sched/blocker")},
		{Path: "cluster/sched/queue", Level: 13, May: []string{
			"fsm/model", "fsm/state", "fsm/state/table", "cluster/sched/blocker", "cluster/sched/admission", "cluster/sched/split",
		}},
		{Path: "cluster/sched/split", Level: 11, Bare: true},
		{Path: "cluster/sched/place", Level: 15, May: schedRooms("cluster/sched/split")},
		{Path: "cluster/sched/reserve", Level: 16, May: schedRooms("cluster/sched/place")},
		{Path: "cluster/sched/pass", Level: 17, May: schedRooms("cluster/sched/place", "cluster/sched/reserve")},
		{Path: "cluster/sched/cores", Level: 18, May: schedRooms("cluster/sched/place", "cluster/sched/reserve", "cluster/sched/pass")},
		{Path: "cluster/sched/preemption", Level: 18, May: schedRooms("cluster/sched/place", "cluster/sched/pass")},
		{Path: "cluster/sched/search", Level: 19, May: schedRooms("cluster/sched/split", "cluster/sched/place", "cluster/sched/pass",
			"cluster/sched/cores", "cluster/sched/preemption")},
		{Path: "cluster/sched", Level: 20, May: schedRooms("fsm/state/apply", "cluster/sched/place", "cluster/sched/reserve", "cluster/sched/pass",
			"cluster/sched/cores", "cluster/sched/preemption", "cluster/sched/search")},
		{Path: "cluster/sched/forecast", Level: 21, May: schedRooms("cluster/sched/virtual", "cluster/sched/place", "cluster/sched/reserve",
			"cluster/sched/pass", "cluster/sched")},
		{Path: "cluster/sched/explain", Level: 21, May: schedRooms("cluster/sched/virtual", "cluster/sched/place", "cluster/sched")},
		{Path: "cluster/liveness", Level: 14, May: stateRooms()},
		{Path: "cluster/leader", Level: 21, May: stateRooms("cluster/sched", "cluster/sched/place", "cluster/sched/search", "cluster/liveness", "cluster/upgrade")},
		{Path: "cluster/archive", Level: 16, May: stateRooms("fsm/private")},
		{Path: "cluster/history", Level: 16, May: stateRooms("fsm/private", "fsm/smallfile")},
		{Path: "cluster/notify", Level: 16, May: stateRooms("fsm/sealing", "httpapi/wire")},
		{Path: "cluster/soft", Level: 16, May: stateRooms("fsm/private")},
		{Path: "cluster/gossip", Level: 16, May: []string{"fsm/model", "cluster/conns"}},
		{Path: "cluster/backup", Level: 17, May: stateRooms("trust", "fsm/state/check", "fsm/state/snapshot", "fsm/smallfile")},
		{Path: "cluster/restore", Level: 18, May: stateRooms("trust", "fsm/state/apply", "fsm/state/snapshot", "cluster/archive", "cluster/backup", "cluster/raftstore")},
		{Path: "cluster/conns", Level: 1, Bare: true},
		{Path: "cluster/peer", Level: 1, May: []string{"fsm/model"}},
		{Path: "cluster/votes", Level: 1, May: []string{"fsm/model"}},
		{Path: "cluster/upgrade", Level: 1, May: []string{"fsm/model"}},
		{Path: "cluster/call", Level: 2, May: []string{"fsm/model", "cluster/conns", "cluster/peer"}},
		{Path: "cluster/raftnet", Level: 16, May: []string{"fsm/model", "cluster/conns", "cluster/peer"}},
		{Path: "cluster/raftstore", Level: 16, May: []string{"fsm/model", "fsm/smallfile", "fsm/private", "cluster/upgrade"}},
		{Path: "cluster", Level: 22, May: stateRooms("fsm", "cluster/sched/queue", "cluster/liveness", "cluster/leader",
			"cluster/archive", "cluster/history", "cluster/notify", "cluster/soft", "cluster/gossip", "cluster/raftnet", "cluster/raftstore", "cluster/call", "cluster/peer", "cluster/votes", "cluster/upgrade")},
	}
}

func apiFloor() []Room {
	return []Room{
		{Path: "httpapi/wire", Level: 2, Bare: true, May: []string{"slurm/request"}},
		{Path: "httpapi/endpoint", Level: 2, May: []string{"fsm/model"}},
		{Path: "httpapi/tunnel", Level: 2},
		{Path: "httpapi/front", Level: 3, May: []string{"httpapi/wire"}},
		{Path: "httpapi/memberwire", Level: 2, Bare: true},
		{Path: "httpapi/pagewire", Level: 3, Bare: true, May: []string{"httpapi/wire"}},
		{Path: "httpapi/agentwire", Level: 2, May: []string{"fsm/model"}},
		{Path: "httpapi/problem", Level: 11, May: []string{"fsm/model", "fsm/command", "httpapi/wire"}},
		{Path: "httpapi/strict", Level: 12, May: []string{"httpapi/wire", "httpapi/problem", "slurm/nearest"}},
		{Path: "httpapi/seal", Level: 12, May: stateRooms("fsm/sealing", "httpapi/wire", "httpapi/problem")},
		{Path: "httpapi/listing", Level: 13, May: []string{"httpapi/problem", "httpapi/strict"}},
		{Path: "httpapi/auth", Level: 16, May: []string{"fsm/model", "httpapi/wire"}},
		{Path: "httpapi/forward", Level: 16, May: []string{"fsm/model", "httpapi/wire", "cluster/call", "cluster/peer"}},
		{Path: "httpapi/client", Level: 16, May: []string{"fsm/model", "httpapi/wire", "httpapi/agentwire", "httpapi/memberwire", "httpapi/pagewire", "httpapi/endpoint", "httpapi/tunnel"}},
		{Path: "httpapi/issue", Level: 16, May: []string{"fsm/model", "fsm/model/membership", "fsm/command", "fsm/sealing", "trust"}},
		{Path: "httpapi/dashboard", Level: 16},
		{Path: "httpapi/workload", Level: 16, May: []string{"fsm/model", "httpapi/wire"}},
		{Path: "httpapi/advice", Level: 17, May: []string{"httpapi/wire", "httpapi/workload"}},
		{Path: "httpapi/intake", Level: 17, May: stateRooms("fsm/command/valid", "cluster/sched/queue", "httpapi/wire", "httpapi/problem", "httpapi/strict", "httpapi/auth",
			"slurm/request", "fsm/model/partition")},
		{Path: "httpapi/places", Level: 22, May: stateRooms("cluster/sched/queue", "cluster/sched/place", "cluster/sched/cores", "cluster/sched/forecast")},
		{Path: "httpapi/view", Level: 22, May: stateRooms("cluster/sched/blocker", "cluster/sched/forecast", "cluster/sched/explain", "cluster/sched/admission", "cluster/sched/queue", "cluster/archive",
			"cluster/notify", "httpapi/wire", "httpapi/agentwire", "httpapi/auth", "slurm/request", "fsm/model/partition")},
		{Path: "httpapi/port", Level: 17, May: stateRooms("httpapi/wire", "httpapi/forward", "cluster/peer", "cluster/soft", "cluster/archive", "cluster/history", "cluster/upgrade")},
		{Path: "httpapi/oidc", Level: 17, May: []string{"fsm/model", "httpapi/auth"}},
		{Path: "httpapi/signin", Level: 18, May: stateRooms("httpapi/auth", "httpapi/oidc", "httpapi/problem", "httpapi/wire", "httpapi/forward", "httpapi/port", "cluster/call", "cluster/peer")},
		{Path: "httpapi/meter", Level: 23, May: stateRooms("httpapi/agentwire", "httpapi/auth", "httpapi/places", "httpapi/view", "httpapi/port", "cluster/peer")},
		{Path: "httpapi/core", Level: 24, May: stateRooms(slices.Concat(apiBase(), []string{
			"httpapi/endpoint", "httpapi/forward", "httpapi/front", "httpapi/advice", "httpapi/places", "httpapi/meter", "httpapi/oidc", "httpapi/signin", "httpapi/workload",
			"cluster/call", "cluster/soft", "cluster/archive", "cluster/notify", "httpapi/issue", "trust",
		})...)},
		{Path: "httpapi/agentapi", Level: 25, May: stateRooms(append(apiBase(), "fsm/state/apply", "httpapi/core", "httpapi/forward", "httpapi/issue", "cluster/call", "cluster/soft", "trust")...)},
		{Path: "httpapi/jobs", Level: 25, May: stateRooms(append(apiBase(), "fsm/state/apply", "httpapi/core", "httpapi/places", "cluster/sched/forecast", "cluster/sched/explain", "cluster/archive", "slurm/request", "httpapi/endpoint", "httpapi/tunnel")...)},
		{Path: "httpapi/fleet", Level: 25, May: stateRooms(append(apiBase(), "httpapi/memberwire", "cluster/votes", "cluster/history", "trust", "httpapi/core", "cluster/call")...)},
		{Path: "httpapi/members", Level: 25, May: stateRooms(append(apiBase(), "cluster/backup", "cluster/votes", "cluster/upgrade", "httpapi/core", "httpapi/memberwire", "httpapi/issue", "cluster/call", "trust")...)},
		{Path: "httpapi/services", Level: 25, May: stateRooms(append(apiBase(), "httpapi/core", "httpapi/workload", "cluster/sched/explain", "cluster/sched/queue")...)},
		{Path: "httpapi/admin", Level: 25, May: stateRooms(append(apiBase(), "httpapi/core", "httpapi/oidc", "httpapi/signin", "trust", "cluster/archive", "cluster/notify", "cluster/sched/queue")...)},
		{Path: "httpapi/compat", Level: 25, May: stateRooms(append(apiBase(), "fsm/state/apply", "httpapi/core", "httpapi/places", "cluster/sched/queue")...)},
		{Path: "httpapi", Level: 26, May: []string{
			"httpapi/core", "httpapi/agentapi", "httpapi/jobs", "httpapi/fleet", "httpapi/members", "httpapi/services", "httpapi/admin", "httpapi/compat", "httpapi/dashboard",
		}},
		{Path: "httpapi/plug", Level: 23, May: stateRooms("cluster", "cluster/peer", "httpapi/problem", "httpapi/forward", "httpapi/wire")},
	}
}

// apiBase returns the rooms that every handler of the API may use.
func apiBase() []string {
	return []string{
		"httpapi/wire", "httpapi/pagewire", "httpapi/agentwire", "httpapi/auth", "httpapi/problem", "httpapi/strict", "httpapi/listing", "httpapi/intake", "httpapi/view", "httpapi/port",
		"cluster/peer", "fsm/sealing", "httpapi/seal",
	}
}

func nodeFloor() []Room {
	return []Room{
		{Path: "node/fence", Level: 16, May: []string{"fsm/model"}},
		{Path: "node/internal/proc", Level: 12},
		{Path: "node/disk", Level: 12},
		{Path: "node/gpu/judge", Level: 12, May: []string{"fsm/model"}},
		{Path: "node/gpu", Level: 16, May: []string{"fsm/model", "fsm/smallfile", "node/gpu/judge"}},
		{Path: "node/runner/cgroup", Level: 12},
		{Path: "node/runner/isolate", Level: 12},
		{Path: "node/runner", Level: 16, May: []string{"fsm/model", "fsm/smallfile", "node/disk", "slurm/environ", "slurm/form", "slurm/jobfile", "slurm/request"}},
		{Path: "node/runner/devices", Level: 16, May: []string{"node/runner/isolate"}},
		{Path: "node/journal", Level: 16, May: []string{"fsm/model", "fsm/smallfile", "fsm/private", "node/disk"}},
		{Path: "node/nodeapi", Level: 16, May: []string{"fsm/model", "httpapi/agentwire", "httpapi/wire", "httpapi/pagewire", "httpapi/endpoint", "httpapi/tunnel"}},
		{Path: "node/gpu/nvml", Level: 17, May: []string{"fsm/model", "node/gpu", "node/gpu/judge", "node/internal/proc"}},
		{Path: "node/gpu/simgpu", Level: 17, May: []string{"fsm/model", "fsm/smallfile", "node/gpu", "node/gpu/judge", "node/internal/proc"}},
		{Path: "node/runner/process", Level: 17, May: []string{
			"fsm/model", "fsm/smallfile", "fsm/private", "node/disk", "node/runner", "node/runner/cgroup", "node/runner/isolate", "node/fence", "node/internal/proc",
			"slurm/jobfile",
		}},
		{Path: "node", Level: 17, May: []string{
			"fsm/model", "fsm/smallfile", "fsm/private", "httpapi/wire", "httpapi/agentwire", "httpapi/client", "cluster/gossip", "slurm/jobfile",
			"node/disk", "node/fence", "node/gpu", "node/runner", "node/runner/isolate", "node/journal", "node/nodeapi", "node/internal/proc",
		}},
	}
}

func cmdFloor() []Room {
	return []Room{
		{Path: "cmd/internal/config", Level: 18, Any: true},
		{Path: "cmd/internal/build", Level: 18},
		{Path: "cmd/internal/terminal", Level: 16},
		{Path: "cmd/internal/loglimit", Level: 16},
		{Path: "cmd/internal/systemd", Level: 16},
		{Path: "cmd/internal/table", Level: 17, Any: true},
		{Path: "cmd/internal/doctor", Level: 18, May: []string{"cmd/internal/table"}},
		{Path: "cmd/internal/cli/examine", Level: 20, Any: true},
		{Path: "cmd/internal/redact", Level: 16},
		{Path: "cmd/internal/cli/bundle", Level: 21, Any: true},
		{Path: "cmd/internal/inspect", Level: 22, Any: true},
		{Path: "cmd/internal/simulate", Level: 22, Any: true},
		{Path: "cmd/internal/cli", Level: 19, Any: true},
		{Path: "cmd/internal/devcluster", Level: 19, Any: true},
		{Path: "cmd/internal/cli/fleet", Level: 20, Any: true},
		{Path: "cmd/internal/cli/admin", Level: 20, Any: true},
		{Path: "cmd/internal/cli/certs", Level: 20, Any: true},
		{Path: "cmd/internal/cli/upgrade", Level: 20, Any: true},
		{Path: "cmd/internal/cli/setup", Level: 20, Any: true},
		{Path: "cmd/internal/cli/jobs", Level: 23, Any: true},
		{Path: "cmd/internal/cli/sim", Level: 23, Any: true},
		{Path: "cmd/internal/cli/snapshot", Level: 20, Any: true},
		{Path: "cmd/internal/cli/daemon", Level: 20, Any: true},
		{Path: "cmd/internal/cli/images", Level: 20, Any: true},
		{Path: "cmd/internal/cli/backups", Level: 20, Any: true},
		{Path: "cmd/internal/cli/slurm/submit", Level: 20, May: []string{
			"fsm/model", "httpapi/wire", "slurm/filename", "slurm/form", "slurm/hostlist", "slurm/request", "slurm/sbatch",
		}},
		{Path: "cmd/internal/cli/slurm/words", Level: 20, May: []string{"httpapi/wire", "slurm/format", "slurm/hostlist"}},
		{Path: "cmd/internal/cli/slurm/fleet", Level: 21, May: []string{"httpapi/wire", "slurm/format", "cmd/internal/cli/slurm/words"}},
		{Path: "cmd/internal/cli/slurm/watch", Level: 24, Any: true},
		{Path: "cmd/internal/cli/slurm/start", Level: 24, Any: true},
		{Path: "cmd/internal/cli/slurm/reach", Level: 20, Any: true},
		{Path: "cmd/internal/cli/slurm", Level: 25, Any: true},
		{Path: "cmd/internal/cli/slurm/inherit", Level: 1, Bare: true},
		{Path: "cmd/internal/cli/slurm/process", Level: 2, May: []string{"cmd/internal/cli/slurm/inherit"}},
		{Path: "cmd/internal/cli/slurm/contain", Level: 4, May: []string{"slurm/container", "slurm/jobfile", "image/name", "image/lock", "image/root", "cmd/internal/cli/slurm/process"}},
		{Path: "cmd/internal/cli/slurm/link", Level: 4, May: []string{"slurm/container", "slurm/environ", "slurm/jobfile", "slurm/srun"}},
		{Path: "cmd/internal/cli/slurm/task", Level: 5, May: []string{"slurm/container", "cmd/internal/cli/slurm/process", "cmd/internal/cli/slurm/contain", "slurm/environ", "slurm/filename", "slurm/jobfile", "cmd/internal/cli/slurm/link"}},
		{Path: "cmd/internal/cli/slurm/step", Level: 6, May: []string{
			"cmd/internal/cli/slurm/contain", "cmd/internal/cli/slurm/inherit", "httpapi/tunnel",
			"slurm/environ", "slurm/filename", "slurm/form", "slurm/jobfile", "slurm/srun", "cmd/internal/cli/slurm/link", "cmd/internal/cli/slurm/task",
		}},
		{Path: "cmd/internal/cli/slurm/batch", Level: 7, May: []string{
			"slurm/container", "cmd/internal/cli/slurm/contain", "cmd/internal/cli/slurm/inherit", "cmd/internal/cli/slurm/process",
			"slurm/environ", "slurm/filename", "slurm/form", "slurm/jobfile", "cmd/internal/cli/slurm/step", "cmd/internal/cli/slurm/task",
		}},
		{Path: "cmd/internal/cli/root", Level: 26, Any: true},
		{Path: "cmd/internal/demo", Level: 20, Any: true},
		{Path: "cmd/internal/bench", Level: 20, Any: true},
		{Path: "cmd/berth-supervisor", Level: 21, May: []string{"cmd/internal/build", "node/runner/process"}},
		{Path: "cmd/berth", Level: 27, May: []string{"cmd/internal/cli/root"}},
		{Path: "cmd/berthd", Level: 27, Any: true},
	}
}

// Library ties a family of third-party packages to the rooms that may import it.
type Library struct {
	Prefix string   // import path, of the package or of the folder above it
	Rooms  []string // packages that may import it, in addition to everything below test/; "cmd/..." is all below cmd
	Tests  bool     // _test.go files of every room may import it
	Why    string
}

// Libraries lists the third-party packages that tie a room to something. Those
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
			Why: "keep files on disk in the rooms that know how to recover them",
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
			Prefix: prefix, Tests: true, Rooms: []string{statetest},
			Why: "move the code into a _test.go file or below test/: test helpers are not linked into the program",
		})
	}
	return libs
}

// holds reports whether code of a room, or its test, may import the library.
func (l Library) holds(room string, test bool) bool {
	return test && l.Tests || below(room, "test") || slices.ContainsFunc(l.Rooms, func(allowed string) bool {
		tree, all := strings.CutSuffix(allowed, "/...")
		return allowed == room || all && below(room, tree)
	})
}

// TopFolders lists the folders that the repository's root may hold, in addition to
// hidden ones.
func TopFolders() []string {
	return []string{"cmd", "fsm", "cluster", "node", "httpapi", "deploy", "test", "docs", "trust", "slurm", "image", "page"}
}

// roomOf finds the room of a folder that holds Go files.
func roomOf(dir string) (Room, bool) {
	if below(dir, "test") {
		return Room{Path: dir, Level: TestLevel, Any: true}, true
	}
	for _, r := range Rooms() {
		if r.Path == dir {
			return r, true
		}
	}
	return Room{}, false
}

// below reports whether a path is the folder top or lies in it.
func below(p, top string) bool {
	return p == top || strings.HasPrefix(p, top+"/")
}
