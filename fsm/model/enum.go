package model

// Class is a job's priority class. A higher class goes first under the policies that use it.
type Class uint8

// The priority classes.
const (
	ClassLow      Class = 1
	ClassNormal   Class = 2
	ClassHigh     Class = 3
	ClassCritical Class = 4
)

// Valid reports whether c is one of the four classes.
func (c Class) Valid() bool { return c >= ClassLow && c <= ClassCritical }

// String returns the class's name.
func (c Class) String() string { return NameOf(c, "", "low", "normal", "high", "critical") }

// TaskState is the state of a task.
type TaskState uint8

// The states of a task, in the order of a life that goes well.
const (
	TaskQueued     TaskState = 1 // accepted, or sent back to wait for another attempt
	TaskScheduled  TaskState = 2 // a placement committed: the GPUs are its own
	TaskAllocating TaskState = 3 // an agent has taken it and prepares
	TaskRunning    TaskState = 4 // every rank's process has started
	TaskCompleted  TaskState = 5 // every rank exited 0
	TaskFailed     TaskState = 6 // a rank failed and nothing is left to try
	TaskCanceled   TaskState = 7 // a user, an admin or a dependency ended it
)

// Live reports whether the task has an attempt that holds GPUs.
func (s TaskState) Live() bool { return s >= TaskScheduled && s <= TaskRunning }

// Terminal reports whether the state is final.
func (s TaskState) Terminal() bool { return s >= TaskCompleted }

// String returns the state's name in API and command line.
func (s TaskState) String() string {
	return NameOf(s, "", "queued", "scheduled", "allocating", "running", "completed", "failed", "canceled")
}

// RankPhase is the phase of a rank on its node.
type RankPhase uint8

// The phases of a rank.
const (
	RankAssigned RankPhase = 1 // placed; not reported by an agent yet
	RankTaken    RankPhase = 2 // the agent has it and prepares
	RankReady    RankPhase = 3 // folders made, GPUs clean, address known: waits for its gang
	RankRunning  RankPhase = 4 // its process has started
	RankExited   RankPhase = 5 // its process has ended, and the node has reported how
	RankNever    RankPhase = 6 // the node has reported that it did not and will never start
	RankLost     RankPhase = 7 // given up: fenced by time, or its host rebooted, or an operator's confirmation
)

// Ended reports whether the rank has ended, as far as the cluster may rely on it.
func (p RankPhase) Ended() bool { return p >= RankExited }

// String returns the phase's name.
func (p RankPhase) String() string {
	return NameOf(p, "", "assigned", "taken", "ready", "running", "exited", "never_started", "lost")
}

// Reason is why an attempt is being stopped or why it ended.
type Reason uint8

// The reasons. From ReasonStartDeadline to ReasonCancel a later one overrules an
// earlier one: a job that is canceled while it is being preempted is canceled.
const (
	ReasonNone          Reason = 0
	ReasonStartDeadline Reason = 1  // not all ranks got ready in time
	ReasonPreempt       Reason = 2  // its GPUs were claimed for another
	ReasonDrain         Reason = 3  // a node of it is drained
	ReasonRequeue       Reason = 4  // an operator or its owner sent it back to the queue
	ReasonGangBroken    Reason = 5  // another rank of it failed or was lost
	ReasonTimeLimit     Reason = 6  // it ran as long as it may
	ReasonCancel        Reason = 7  // a user, an admin or a dependency ended it
	ReasonExit          Reason = 8  // its processes ended by themselves
	ReasonLost          Reason = 9  // a node of it fell silent for longer than its lease
	ReasonRebooted      Reason = 10 // a node of it came back with a new boot id
	ReasonConfirmedDead Reason = 11 // an operator confirmed that a node of it is dead
	ReasonGPUFault      Reason = 12 // a GPU of it has a fault; as a stop it ranks between requeue and gang_broken
	ReasonDependency    Reason = 13 // a job that it waited for has not ended as it should
	ReasonDeadline      Reason = 14 // its deadline came; as a stop it ranks between time_limit and canceled
	ReasonDiskLimit     Reason = 15 // it took more of a node's disk than it may; as a stop it ranks between gang_broken and time_limit
	ReasonLeadEnded     Reason = 16 // rank 0, with which the job ends, has ended; as a stop it ranks with gang_broken
)

// Stops reports whether r can be the reason of a stop, and its signal be delivered.
func (r Reason) Stops() bool {
	return r > ReasonNone && r <= ReasonCancel || r == ReasonGPUFault || r >= ReasonDeadline && r <= ReasonLeadEnded
}

// Outranks reports whether a stop for r replaces one for o.
func (r Reason) Outranks(o Reason) bool { return r.force() > o.force() }

func (r Reason) force() int {
	switch r { //nolint:exhaustive // the others have the default
	case ReasonGPUFault:
		return 2*int(ReasonRequeue) + 1
	case ReasonLeadEnded:
		return 2 * int(ReasonGangBroken)
	case ReasonDiskLimit:
		return 2*int(ReasonGangBroken) + 1
	case ReasonDeadline:
		return 2*int(ReasonTimeLimit) + 1
	default:
		return 2 * int(r)
	}
}

// Gone reports whether r is the end of an attempt of which a node went silent or died.
func (r Reason) Gone() bool { return r >= ReasonLost && r <= ReasonConfirmedDead }

// String returns the reason's name.
func (r Reason) String() string {
	return NameOf(r, "", "start_deadline", "preempted", "drained", "requeued", "gang_broken", "time_limit",
		"canceled", "exited", "lost", "rebooted", "confirmed_dead", "gpu_fault", "dependency", "deadline", "disk_limit", "lead_ended")
}

// OnLost is the treatment of a job when a node of it falls silent.
type OnLost uint8

// The choices of a job.
const (
	OnLostRequeue OnLost = 1 // fence it by time, then start another attempt
	OnLostHold    OnLost = 2 // never fence it by time: wait for the node or an operator
	OnLostFail    OnLost = 3 // fence it by time, then fail it
)

// Valid reports whether o is one of the three.
func (o OnLost) Valid() bool { return o >= OnLostRequeue && o <= OnLostFail }

// String returns the name in API and command line.
func (o OnLost) String() string { return NameOf(o, "", "requeue", "hold", "fail") }

// NodeStatus is a node's contact with the cluster.
type NodeStatus uint8

// The statuses of a node.
const (
	NodeUp      NodeStatus = 1 // it renews its lease
	NodeSuspect NodeStatus = 2 // no renewal for a while: no new work goes there
	NodeDead    NodeStatus = 3 // an operator confirmed it dead; it may register again
)

// String returns the status's name.
func (s NodeStatus) String() string { return NameOf(s, "", "up", "suspect", "dead") }

// NodeMode is an operator's setting for a node.
type NodeMode uint8

// The modes of a node.
const (
	ModeOpen     NodeMode = 0 // takes work
	ModeCordoned NodeMode = 1 // takes no new work
	ModeDraining NodeMode = 2 // takes no new work, and what runs there is stopped and sent back
)

// String returns the mode's name.
func (m NodeMode) String() string { return NameOf(m, "open", "cordoned", "draining") }

// Health is a GPU's verdict.
type Health uint8

// The verdicts. Only healthy and degraded GPUs take work.
const (
	HealthHealthy     Health = 1
	HealthDegraded    Health = 2 // works, with warnings
	HealthQuarantined Health = 3 // a fault that needs a reset or a person
	HealthUnmanaged   Health = 4 // a process runs there that Berth did not start
	HealthDirty       Health = 5 // memory or a process of an ended attempt is still there
	HealthMissing     Health = 6 // the node no longer lists it
)

// Usable reports whether work may be placed there.
func (h Health) Usable() bool { return h == HealthHealthy || h == HealthDegraded }

// Valid reports whether h is one of the verdicts.
func (h Health) Valid() bool { return h >= HealthHealthy && h <= HealthMissing }

// String returns the verdict's name.
func (h Health) String() string {
	return NameOf(h, "", "healthy", "degraded", "quarantined", "unmanaged", "dirty", "missing")
}

// Owner is the kind of a slot's owner.
type Owner uint8

// The kinds of owner.
const (
	OwnerNone       Owner = 0
	OwnerAttempt    Owner = 1 // a live attempt's rank
	OwnerAllocation Owner = 2 // a live allocation
	OwnerCleaning   Owner = 3 // an ended attempt or allocation, until the node shows the GPU clean
	OwnerForeign    Owner = 4 // a running attempt that this state does not know, after a restore
)

// String returns the kind's name.
func (o Owner) String() string {
	return NameOf(o, "free", "attempt", "allocation", "cleaning", "foreign")
}

// AllocationState is the state of an allocation.
type AllocationState uint8

// The states of an allocation.
const (
	AllocationQueued   AllocationState = 1
	AllocationActive   AllocationState = 2
	AllocationReleased AllocationState = 3
	AllocationExpired  AllocationState = 4
	AllocationLost     AllocationState = 5
)

// Terminal reports whether the allocation holds nothing and waits for nothing.
func (s AllocationState) Terminal() bool { return s >= AllocationReleased }

// String returns the state's name.
func (s AllocationState) String() string {
	return NameOf(s, "", "queued", "active", "released", "expired", "lost")
}

// ScopeKind is the kind of scope of a limit or of use.
type ScopeKind uint8

// The scopes.
const (
	ScopeCluster ScopeKind = 1
	ScopeProject ScopeKind = 2
	ScopeUser    ScopeKind = 3
)

// String returns the scope's name.
func (k ScopeKind) String() string { return NameOf(k, "", "cluster", "project", "user") }

// NameOf returns the name of a value, of names from that of 0 on; "unknown" if the value has none.
func NameOf[E ~uint8](e E, names ...string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return "unknown"
}
