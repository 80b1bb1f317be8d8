package node

import (
	"context"
	"log/slog"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// Membership registers an agent's node and renews its lease. An error means a missing answer; a refusal is an
// answer.
type Membership interface {
	Register(context.Context, *agentwire.Register) (*agentwire.Registered, error)
	Renew(context.Context, *agentwire.Renew) (*agentwire.Renewed, error)
	// Silence asks only the peer at an address whether there is a leader.
	Silence(ctx context.Context, address string) (*agentwire.Silence, error)
	// SetPeers sets the addresses for further calls.
	SetPeers(addresses []string)
}

// Work fetches the desired set and reports results.
type Work interface {
	Desired(context.Context, *agentwire.Poll) (*model.Desired, error)
	Report(context.Context, *agentwire.Report) (*agentwire.Reported, error)
	Inventory(context.Context, *agentwire.Inventory) (*agentwire.Reported, error)
	Blob(context.Context, model.Hash) (string, error)
	Tail(context.Context, *agentwire.Tail) error
}

// Cluster is the API of the peers for an agent. Its methods may be called from any goroutine.
type Cluster interface {
	Membership
	Work
}

// Self describes a node to the cluster.
type Self struct {
	Node     model.NodeID
	Machine  string // identifies the hardware
	Boot     string // identifies the boot of the kernel
	Hostname string
	Address  string // host and port on which the agent listens
	Version  string
	CPUs     uint32
	MemoryMB uint32
	Features string         // the isolation that the host allows
	Labels   string         // as model.Labels writes them
	Accounts model.Accounts // accounts under which jobs run
	Account  string         // the agent's own
}

// admits reports whether jobs of a user run here.
func (s *Self) admits(user string) bool {
	n := model.Node{Accounts: s.Accounts, Account: s.Account}
	return n.Admits(user)
}

// Config is the configuration of an agent. All fields but Peers, Keep, Disks, Ready and Account are required.
type Config struct {
	Self    Self
	Journal *journal.Journal
	Run     runner.RunFolder
	Runner  runner.Runner
	GPUs    gpu.Source
	Cluster Cluster
	Peers   []string // addresses that are used in addition to those from the cluster
	Keep    Keep
	Disks   []string // further folders on this node that ranks write to; missing ones are skipped

	// Clear removes what ranks have left in Disks: while a disk is short of space, and if aged is true, what is old. Of tasks that are live,
	// which have a rank here, nothing is removed. Without the function nothing is.
	Clear   func(live func(model.TaskKey) (bool, error), aged bool)
	Ready   func() error            // why no rank can start on this host for now, apart from its disks; nil: nothing else can prevent it
	Account func(user string) error // why the host has no account for jobs of a user; nil: it runs jobs under no other accounts
	Clock   func() fence.Reading    // the host's clocks
	Log     *slog.Logger
}
