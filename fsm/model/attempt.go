package model

import (
	"cmp"
	"fmt"
	"time"
)

// Attempt is one try to run a task. It is live from its placement until every rank has ended.
//
//berth:row
type Attempt struct {
	Key         AttemptKey  `cbor:"1,keyasint,omitempty"`
	State       TaskState   `cbor:"2,keyasint,omitempty"` // scheduled, allocating, running, or terminal
	Incarnation Incarnation `cbor:"3,keyasint,omitempty"`
	Frozen      Frozen      `cbor:"4,keyasint,omitempty"`

	PlacedIndex uint64 `cbor:"5,keyasint,omitempty"` // the log entry that placed it
	Placed      Time   `cbor:"6,keyasint,omitempty"`
	Started     Time   `cbor:"7,keyasint,omitempty"` // when its last rank started; 0: not yet
	Ended       Time   `cbor:"8,keyasint,omitempty"`

	Ranks uint32 `cbor:"9,keyasint,omitempty"`
	GPUs  uint32 `cbor:"10,keyasint,omitempty"`
	Run   bool   `cbor:"11,keyasint,omitempty"` // ranks that are ready may start their processes
	Ready uint32 `cbor:"21,keyasint,omitempty"` // ranks that are ready, or have been
	Begun uint32 `cbor:"22,keyasint,omitempty"` // ranks whose process has started or even ended
	Gone  uint32 `cbor:"23,keyasint,omitempty"` // ranks that have ended

	Stop     Reason `cbor:"12,keyasint,omitempty"` // none: not being stopped
	StopAt   Time   `cbor:"13,keyasint,omitempty"` // when the stop was requested
	StopBy   string `cbor:"14,keyasint,omitempty"` // the actor that requested the stop
	StopNote string `cbor:"15,keyasint,omitempty"`

	End       Reason `cbor:"16,keyasint,omitempty"` // why it ended; none while live
	ExitCode  int32  `cbor:"17,keyasint,omitempty"`
	Signal    uint8  `cbor:"18,keyasint,omitempty"`
	FirstRank uint32 `cbor:"19,keyasint,omitempty"` // the rank that failed or was lost first, plus one
	Cause     Reason `cbor:"20,keyasint,omitempty"` // what became of that rank: exit, lost, rebooted, confirmed dead, GPU fault

	Wasted time.Duration `cbor:"24,keyasint,omitempty"` // GPU time after its last checkpoint, when it did not complete; at most the longest Duration

	Idle    uint64 `cbor:"25,keyasint,omitempty"` // GPU-seconds of Watched in which its GPUs did nothing; see Exit
	Watched uint64 `cbor:"26,keyasint,omitempty"` // GPU-seconds in which it was measured what they do

	Hold bool `cbor:"28,keyasint,omitempty"` // if the task returns to the queue, it is held there

	Secret Hash `cbor:"27,keyasint,omitempty"` // random; by it its ranks recognize each other; zero: it has one rank
}

// Live reports whether the attempt may still have processes.
func (a *Attempt) Live() bool { return !a.State.Terminal() }

// Frozen holds the parameters of an attempt's lease and its end, fixed at placement so that a later change of
// settings cannot make the leader and a supervisor disagree.
type Frozen struct {
	OnLost          OnLost        `cbor:"1,keyasint,omitempty"`
	T               time.Duration `cbor:"2,keyasint,omitempty"` // how long the node may be out of contact
	Kill            time.Duration `cbor:"3,keyasint,omitempty"` // K: what a supervisor may need to end all processes
	DriftPPM        uint32        `cbor:"4,keyasint,omitempty"` // bound on the rate error of a clock, parts per million
	Margin          time.Duration `cbor:"5,keyasint,omitempty"` // M: added to the leader's wait
	Grace           time.Duration `cbor:"6,keyasint,omitempty"` // from the stop signal to the kill
	CheckpointGrace time.Duration `cbor:"7,keyasint,omitempty"` // from the checkpoint signal to the stop signal
	TimeLimit       time.Duration `cbor:"8,keyasint,omitempty"` // kept by the supervisor on CLOCK_BOOTTIME; 0: none
}

// Lease protocol constants. The rate error is what crystals and hypervisors keep with a wide margin; the
// others follow the defaults of Slurm and Kubernetes.
const (
	MinDisconnectGrace     = 30 * time.Second
	MaxDisconnectGrace     = 24 * time.Hour
	DefaultDisconnectGrace = 5 * time.Minute
	DriftPPM               = 1000
	fenceSlack             = 10 * time.Second
	minRunUnderLease       = 20 * time.Second
	startSlack             = 10 * time.Second // that a start may take, on top of the fence's own time
)

// Freeze fixes the spec's lease parameters for an attempt.
func (s *Spec) Freeze() Frozen {
	t := s.DisconnectGrace
	return Frozen{
		OnLost: s.OnLost, T: t,
		Kill: min(30*time.Second, t/3), DriftPPM: DriftPPM, Margin: max(5*time.Second, t/50),
		Grace: s.Grace, CheckpointGrace: s.CheckpointGrace, TimeLimit: s.TimeLimit,
	}
}

// FenceLead returns how long before the lease's end a supervisor begins to stop its rank: long enough for the checkpoint, the grace and the
// kill.
func (f *Frozen) FenceLead() time.Duration {
	return max(f.Kill, f.CheckpointGrace+f.Grace+fenceSlack)
}

// Fenced reports whether the end of the lease ends the attempt. No other attempt follows one that is held when its node is lost
// before the node or an operator has reported, so no time ends it.
func (f *Frozen) Fenced() bool { return f.OnLost != OnLostHold }

// StartSpan returns for how long after the start of its node's lease anything new of the attempt may begin: until its fence, if it
// has one, is about to begin. A spec is valid only if that leaves time for a start.
func (f *Frozen) StartSpan() time.Duration {
	if !f.Fenced() {
		return f.T - startSlack
	}
	return f.T - f.FenceLead() - startSlack
}

// LostAfter returns how long the leader waits after the last renewal before it declares a rank lost: T, stretched by four times the clocks'
// rate error (two clocks, each over a span that the other measured), plus the margin.
func (f *Frozen) LostAfter() time.Duration {
	return f.T + 4*f.T/1_000_000*time.Duration(f.DriftPPM) + f.Margin
}

// Rank is the part of an attempt on one node: one process tree.
//
//berth:row
type Rank struct {
	Key    RankKey   `cbor:"1,keyasint,omitempty"`
	Node   NodeID    `cbor:"2,keyasint,omitempty"`
	Epoch  uint64    `cbor:"3,keyasint,omitempty"` // the node's, when placed
	GPUs   uint32    `cbor:"4,keyasint,omitempty"`
	Phase  RankPhase `cbor:"5,keyasint,omitempty"`
	Orphan uint64    `cbor:"6,keyasint,omitempty"` // log index at which its agent lost its memory of it; 0: no

	Address string `cbor:"7,keyasint,omitempty"` // where its gang reaches it, from its ready report
	Port    uint16 `cbor:"8,keyasint,omitempty"`
	Started Time   `cbor:"9,keyasint,omitempty"`
	Exit    Exit   `cbor:"10,keyasint,omitempty"`
	Cause   Reason `cbor:"11,keyasint,omitempty"` // of a lost rank: lost, rebooted, confirmed dead
	Late    bool   `cbor:"12,keyasint,omitempty"` // Exit arrived after the rank had been given up

	Saved time.Duration `cbor:"13,keyasint,omitempty"` // run time at the last checkpoint that the job announced; 0: none

	CPUs     uint32 `cbor:"20,keyasint,omitempty"` // cores that it holds until it has ended, of a job without GPUs; else 0
	MemoryMB uint32 `cbor:"21,keyasint,omitempty"` // likewise, memory in MB
}

// Holds returns the cores and the memory that the rank holds on its node now.
func (r *Rank) Holds() Room {
	if r.Phase.Ended() {
		return Room{}
	}
	return Room{r.CPUs, r.MemoryMB}
}

// NeverRan reports whether the rank has ended without its process having started.
func (r *Rank) NeverRan() bool {
	return r.Phase == RankNever || r.Phase == RankExited && r.Exit.Refused
}

// RankGPU is a GPU that a rank was given. The row stays when the rank has ended.
//
//berth:row
type RankGPU struct {
	Key   RankGPUKey `cbor:"1,keyasint,omitempty"`
	Index uint32     `cbor:"2,keyasint,omitempty"` // its place on the node then
}

// RankGPUKey orders GPUs by the rank that they were given to.
type RankGPUKey struct {
	Rank RankKey `cbor:"1,keyasint,omitempty"`
	GPU  GPUID   `cbor:"2,keyasint,omitempty"`
}

// Compare orders by rank, then GPU.
func (k RankGPUKey) Compare(o RankGPUKey) int {
	return cmp.Or(k.Rank.Compare(o.Rank), k.GPU.Compare(o.GPU))
}

// Exit is how a rank's processes ended, as its supervisor observed.
type Exit struct {
	Code      int32         `cbor:"1,keyasint,omitempty"`
	Signal    uint8         `cbor:"2,keyasint,omitempty"`  // that ended the process; 0: it exited by itself
	OOM       bool          `cbor:"3,keyasint,omitempty"`  // the kernel killed it for memory
	Delivered Reason        `cbor:"4,keyasint,omitempty"`  // the stop whose signal was delivered before the end; none: it ended by itself
	Ran       time.Duration `cbor:"5,keyasint,omitempty"`  // by the supervisor's CLOCK_BOOTTIME
	Fenced    bool          `cbor:"6,keyasint,omitempty"`  // ended by its supervisor at the lease's end
	Saved     time.Duration `cbor:"7,keyasint,omitempty"`  // run time at the last checkpoint that the job announced; 0: none
	GPUFault  bool          `cbor:"8,keyasint,omitempty"`  // a GPU of it had a fault by the node's verdict
	PeakMB    uint32        `cbor:"9,keyasint,omitempty"`  // the most memory that was in use on any of its GPUs, in MiB; 0: unknown
	Idle      uint64        `cbor:"10,keyasint,omitempty"` // GPU-seconds of Watched in which its GPUs did nothing
	Watched   uint64        `cbor:"11,keyasint,omitempty"` // GPU-seconds in which it was measured what they do
	DiskMB    uint64        `cbor:"12,keyasint,omitempty"` // of the node's disk that it took when it was stopped for that, in MiB; 0: it was not
	DiskMaxMB uint64        `cbor:"13,keyasint,omitempty"` // what it might have taken, in MiB
	Refused   bool          `cbor:"14,keyasint,omitempty"` // its process did not start, for a reason of the node's
}

// ShellCode returns the exit code as shells report it: 128 plus the signal's number for a process that a signal ended.
func (e Exit) ShellCode() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return int(e.Code)
}

// Clean reports whether the process exited 0 by itself or after a delivered stop.
func (e Exit) Clean() bool { return e.Code == 0 && e.Signal == 0 && !e.OOM }

// DiskText describes how a rank exceeded its share of its node's disk; "" if it was not stopped for that.
func (e Exit) DiskText() string {
	if e.DiskMB == 0 {
		return ""
	}
	if e.DiskMB < 10<<10 {
		return fmt.Sprintf("used %d of %d MiB of temporary space", e.DiskMB, e.DiskMaxMB)
	}
	return fmt.Sprintf("used %d of %d GiB of temporary space", e.DiskMB>>10, e.DiskMaxMB>>10)
}

// MaxPeakMB bounds a plausible use of memory on a GPU, in MiB.
const MaxPeakMB = 1 << 24

// Bounds of plausible times of a rank.
const (
	MaxRan     = 10 * MaxDuration
	MaxWatched = 1 << 40 // GPU-seconds that were measured
	MaxDiskMB  = 1 << 40 // of a disk, in MiB
)

// MaxRanks bounds an attempt's ranks, and so its nodes.
const MaxRanks = 1024
