package blocker

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Code names a kind of blocker. Codes are part of the API: they do not change.
type Code string

// What can keep a task from starting.
const (
	CodeStopped    Code = "orchestrator_stopped" // nothing is placed
	CodeStandstill Code = "standstill"           // nothing is placed, since a restore
	CodeHeld       Code = "held"                 // it has not been released
	// it waits for job On, or its Task, as After names; that is in State, and cannot if Have of its tasks have not completed
	CodeDependency Code = "dependency"
	CodeBegin      Code = "begin"      // Until: it asked to begin then at the earliest
	CodeBackoff    Code = "backoff"    // Until: it failed, and is tried again then
	CodeThrottle   Code = "throttle"   // Limit tasks of its job may run, Used do
	CodeLimit      Code = "limit"      // Scope may use Limit, uses Used and so has Have; this needs Need
	CodeNever      Code = "never"      // no nodes that the cluster has could hold it, even empty
	CodeGPUType    Code = "gpu_type"   // Have GPUs of the Model that it needs are free: too few, but others would do
	CodeGPUMemory  Code = "gpu_memory" // Have GPUs with MemoryMB are free: too few, but smaller ones would do
	CodeConstraint Code = "constraint" // Have GPUs are free on the nodes that it may be on (Where): too few, but others would do
	// Have GPUs are on nodes that run jobs of its user: too few; other nodes run only those of their agents' accounts (Private), or lack its
	// user's (Lacking)
	CodeAccounts   Code = "accounts"
	CodeAvoid      Code = "gpu_failed" // Have GPUs are free that have not just failed it: too few
	CodeNodes      Code = "nodes"      // it needs Nodes nodes, Have take work
	CodeGPUs       Code = "gpus"       // it needs Need GPUs on each of Nodes nodes; Have are free, Best on one node
	CodeCores      Code = "cores"      // without GPUs: it needs Need cores and HostMB on each of Nodes nodes, see Room
	CodeSuspending Code = "suspending" // it starts as soon as others, Have of them now, have been suspended
	CodeReserved   Code = "reserved"   // it would fit, but GPUs are kept for Have tasks before it, first for Task at Until
	// it would fit, but Task waits for Have of these nodes, from Until on, and it neither ends before nor may be stopped
	CodeBarred Code = "barred"
	CodeBooked Code = "reservation" // it would fit, but Booking keeps GPUs for its owner
	// it would fit, but Booking has taken nodes out of service (Shut), or does so before the task certainly ends
	CodeClosed   Code = "maintenance"
	CodeDegraded Code = "degraded"     // Have of the nodes that it may be on are degraded (Trouble): their agents can start nothing
	CodeAhead    Code = "ahead"        // it would fit, but Have tasks before it are placed first
	CodeRunTime  Code = "max_run_time" // Scope lets a job run for Limit seconds, its time limit is Need
	CodeGPUHours Code = "gpu_hours"    // Scope may use Limit GPU-milliseconds in a period and has used Used; the next begins at Until
	// Limit GPUs are the guarantee of Scope, or usable beyond guarantees under the mode Of; Used are in use, Need needed
	CodePool Code = "pool"
)

// What a limit is of.
const (
	LimitGPUs       = "gpus"         // GPUs in use
	LimitLive       = "running"      // tasks with a live attempt
	LimitGPUsPerJob = "gpus_per_job" // GPUs of one task
	LimitRunTime    = "max_run_time"
	LimitGPUHours   = "gpu_hours" // GPU time of a period
	LimitReserved   = "reserved_gpus"
	LimitCPUs       = "max_cpus" // cores that jobs without GPUs hold
)

// Blocker is one thing that keeps a task from starting. Which numbers it has
// follows from its code.
type Blocker struct {
	Turn
	Asked

	Code  Code
	Need  int64 // GPUs on each node, or what a limit would have to leave room for
	Nodes int64 // on so many nodes; 0: on any number of them
	Have  int64 // how many there are of what is needed
	Best  int64 // GPUs on the node that has most
	Limit int64
	Used  int64          // of the limit, what this plan gives to tasks before it included
	Of    string         // what the limit is of, such as LimitGPUs; of a pool the mode
	Scope model.ScopeKey // that the limit is of

	Trouble string // of nodes that are degraded: why each is, in words; of a task that a node did not start: that node and why

	Default bool // the limit is the default of users without their own

	Room Room // of the node with most room for a job without GPUs
}

// Room is a node with its cores and memory for jobs without GPUs.
type Room struct {
	Node      model.NodeID // empty: no node that the task may use takes work
	All, Free model.Room
	Asked     model.Room
	Kept      model.TaskKey // the earlier task for which the node is kept from Until on; zero: none
	Full      bool          // nodes have room, but the plan has no space for another command
}

// Asked is which GPUs a task asks for.
type Asked struct {
	Model    string // empty: any
	Found    string // the models that it finds, if several by one text; else empty
	MemoryMB uint32 // of each GPU, at least
	Where    string // on which nodes, in words; empty: on any
	Private  string // nodes that would suit, and run jobs of another user only
	Lacking  string // nodes that would suit, and have no account for its user
	Least    int64  // GPUs in all that it takes if it cannot have all; 0: all or none
}

// Turn is what must happen before a task's turn.
type Turn struct {
	Until model.Time      // end of a backoff, the begin, the end of a delay, or the start for which GPUs are kept
	On    model.JobID     // that it waits for
	After dependency.Kind // what that has to do
	Delay time.Duration   // how long before
	Other bool            // another of its dependencies is enough
	State model.TaskState // of On: where its most advanced task is
	Task  model.TaskKey   // for which GPUs are kept; of a dependency: the task that it waits for, of those of On; zero: all

	Service model.AllocationID // for which they are kept, if it is a service; else empty

	Booking model.Booking // that keeps GPUs
	Shut    string        // the nodes that Booking has taken out of service; empty: it has not begun

	Stopping string // the jobs that are being stopped to give the task GPUs, in words with "has" or "have"; empty: not decided yet
	GPUs     uint32 // how many, by Until at the latest
}

// Holder is a holder of GPUs: a task or, if Allocation is set, a service.
type Holder struct {
	Task       model.TaskKey
	Allocation model.AllocationID
}

// Compare orders by task, then allocation.
func (h Holder) Compare(o Holder) int {
	if c := h.Task.Compare(o.Task); c != 0 {
		return c
	}
	return h.Allocation.Compare(o.Allocation)
}

// String returns "job 7" or "allocation web".
func (h Holder) String() string {
	if h.Allocation != "" {
		return "allocation " + string(h.Allocation)
	}
	return "job " + h.Task.String()
}
