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

// Membership is how an agent keeps its node in the cluster. An error is an answer
// that did not come; a refusal is an answer.
type Membership interface {
	Register(context.Context, *agentwire.Register) (*agentwire.Registered, error)
	Renew(context.Context, *agentwire.Renew) (*agentwire.Renewed, error)
	// Silence asks the peer at an address, and no other, whether anybody leads.
	Silence(ctx context.Context, address string) (*agentwire.Silence, error)
	// SetPeers says which addresses may be asked from now on.
	SetPeers(addresses []string)
}

// Work is how it learns what to do and says what was done.
type Work interface {
	Desired(context.Context, *agentwire.Poll) (*model.Desired, error)
	Report(context.Context, *agentwire.Report) (*agentwire.Reported, error)
	Inventory(context.Context, *agentwire.Inventory) (*agentwire.Reported, error)
	Blob(context.Context, model.Hash) (string, error)
	Tail(context.Context, *agentwire.Tail) error
}

// Cluster is the peers as an agent sees them. Its methods may be called from any
// goroutine.
type Cluster interface {
	Membership
	Work
}

// Self is what a node calls itself.
type Self struct {
	Node     model.NodeID
	Machine  string // which hardware
	Boot     string // which life of the kernel
	Hostname string
	Address  string // host and port where the agent listens
	Version  string
	CPUs     uint32
	MemoryMB uint32
	Features string         // what the host lets the agent do for isolation
	Labels   string         // as model.Labels writes them
	Accounts model.Accounts // under which jobs run
	Account  string         // the agent's own
}

// admits reports whether jobs of a user run here.
func (s *Self) admits(user string) bool {
	n := model.Node{Accounts: s.Accounts, Account: s.Account}
	return n.Admits(user)
}

// Config is what an agent is given. All of it is needed, but for Peers, Keep and Disks.
type Config struct {
	Self    Self
	Journal *journal.Journal
	Run     runner.RunFolder
	Runner  runner.Runner
	GPUs    gpu.Source
	Cluster Cluster
	Peers   []string // addresses that are asked whatever the cluster says
	Keep    Keep
	Disks   []string             // further folders on this node that ranks write to, as far as they are there
	Clock   func() fence.Reading // the host's clocks
	Log     *slog.Logger
}
