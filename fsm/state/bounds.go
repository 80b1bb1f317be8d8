package state

import "time"

// MaxAhead is how far an entry's stamp may be ahead of the state's clock.
const MaxAhead = 5 * time.Minute

// JumpAfterRestore keeps numbers that the lost past may have assigned from being assigned again.
const JumpAfterRestore = 1000

// Timelines are bounded: the beginning and the latest lines stay, the lines between are folded into a number.
const (
	TimelineMax  = 64 // lines of a job
	TimelineHead = 8  // of them from the beginning
	ArrayMax     = 8  // lines of an array's task
	ArrayHead    = 2
)

// MaxLimits bounds the scopes with limits.
const MaxLimits = 20_000

// KeepAttempts is how many attempts of a task stay in full.
const KeepAttempts = 100

// MaxWeights bounds the users and projects with weights of their own.
const MaxWeights = 10_000

// MaxAllocations bounds the allocations that the state holds, those that ended in the
// last hour included.
const MaxAllocations = 50_000

// Bounds of the scheduler's memory of run times.
const (
	MaxSketches   = 20_000
	MaxSketchesOf = MaxSketches / 10 // of a user, from which on the user's own go when room is needed
)

// Bounds of the request ids that a state remembers.
const (
	MaxRequests        = 400_000 // of all actors
	MaxRequestsOf      = 20_000  // of one actor; half as many without a time
	MaxRequestsUntimed = 200_000 // of all actors, ids without a time
	MaxRequestActors   = 50_000  // actors whose ids are counted
)

// MaxShares bounds the users whose use is remembered.
const MaxShares = 20_000

// Bounds of one user's part of what all share. A tenth of each bound of the whole is reserved for operators,
// so that an operator can work whatever users have filled.
const (
	MaxJobBytes      = 512 << 20 // of the jobs that have not ended, of all users; see command.Submit.Bytes
	MaxJobBytesOf    = 64 << 20  // of one user
	MaxEndedBytes    = 256 << 20 // of the jobs that have ended: more leave the state as soon as they are archived
	MaxAllocationsOf = MaxAllocations / 10
	MaxWebhooksOf    = 32   // that one caller made for users and projects
	MaxTokensOf      = 100  // tokens of one user, with those that have expired and are still listed
	MaxPendingKept   = 2000 // deliveries that may wait for webhooks of the whole cluster only, which operators make
	OperatorPart     = 10
	SharedQueue      = 1000 // a queue of so many tasks or more is shared: half of it for one user at most
)
