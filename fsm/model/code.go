package model

// Code is the outcome of a command. Its number is in snapshots, its name in the API; neither changes.
type Code uint16

// The codes.
const (
	CodeOK          Code = 0
	CodeMalformed   Code = 1 // the bytes are no command, or exceed its bounds
	CodeInvalid     Code = 2 // well formed, but a value is not allowed
	CodeNotFound    Code = 3 // names something that does not exist
	CodeConflict    Code = 4 // what it was decided on no longer holds
	CodeDenied      Code = 5 // the actor may not
	CodeLimit       Code = 6 // would exceed a limit
	CodeNotQueued   Code = 7 // the task does not wait
	CodeNotLive     Code = 8 // the attempt has ended
	CodeTerminal    Code = 9 // the job has ended
	CodeStopped     Code = 10
	CodeStandstill  Code = 11
	CodeUnavailable Code = 12 // a node or GPU cannot take work

	CodeStaleEpoch       Code = 20 // the node has registered since: register again
	CodeStaleSeq         Code = 21 // a newer renewal was applied: send the next number
	CodeStaleIncarnation Code = 22 // from another incarnation: register again
	CodeIdentity         Code = 23 // the identity is held by another
	CodeNotSuspect       Code = 24
	CodeOnHold           Code = 25 // a lease does not end this attempt

	CodeIdempotency    Code = 30 // the request id came before with another body
	CodeRequestExpired Code = 31 // the request id is older than what is remembered
	CodeRequestsFull   Code = 32 // no room to remember another request id

	CodeNotBootstrapped Code = 40
	CodeBootstrapped    Code = 41
	CodeClock           Code = 42 // stamped too far ahead of the state's clock
	CodeLevel           Code = 43 // the feature level does not allow it
	CodePanic           Code = 44 // a defect: the command was skipped on every peer
)

var codeNames = map[Code]string{
	CodeOK: "ok", CodeMalformed: "malformed", CodeInvalid: "invalid", CodeNotFound: "not_found",
	CodeConflict: "conflict", CodeDenied: "denied", CodeLimit: "limit_exceeded", CodeNotQueued: "not_queued",
	CodeNotLive: "not_live", CodeTerminal: "already_ended", CodeStopped: "orchestrator_stopped",
	CodeStandstill: "standstill", CodeUnavailable: "unavailable",
	CodeStaleEpoch: "stale_epoch", CodeStaleSeq: "stale_seq", CodeStaleIncarnation: "stale_incarnation",
	CodeIdentity: "identity_conflict", CodeNotSuspect: "not_suspect", CodeOnHold: "on_hold",
	CodeIdempotency: "idempotency_conflict", CodeRequestExpired: "request_expired", CodeRequestsFull: "requests_full",
	CodeNotBootstrapped: "not_bootstrapped", CodeBootstrapped: "already_bootstrapped", CodeClock: "clock_ahead",
	CodeLevel: "feature_level", CodePanic: "internal",
}

// String returns the code's stable name.
func (c Code) String() string {
	if s, ok := codeNames[c]; ok {
		return s
	}
	return "unknown"
}
