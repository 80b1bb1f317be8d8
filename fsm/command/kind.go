package command

import (
	"maps"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// kinds describes each kind: from which feature level on it may be proposed, and its way into the log.
var kinds = map[Kind]struct {
	name  string
	level uint32
	lane  Lane
	fresh func() Body
}{
	KindBootstrap:    {"bootstrap", 1, LaneControl, body[Bootstrap]},
	KindRestored:     {"restored", 1, LaneControl, body[Restored]},
	KindResume:       {"resume", 1, LaneUser, body[Resume]},
	KindAdvanceClock: {"advance_clock", 1, LaneControl, body[AdvanceClock]},
	KindRaiseLevel:   {"raise_level", 1, LaneUser, body[RaiseLevel]},
	KindSetRunning:   {"set_running", 1, LaneUser, body[SetRunning]},
	KindSetPolicy:    {"set_policy", 1, LaneUser, body[SetPolicy]},
	KindSetRetention: {"set_retention", 1, LaneUser, body[SetRetention]},
	KindSetLimit:     {"set_limit", 1, LaneUser, body[SetLimit]},
	KindSetPeer:      {"set_peer", 1, LaneControl, body[SetPeer]},
	KindDropPeer:     {"drop_peer", 1, LaneControl, body[DropPeer]},
	KindCutRequests:  {"cut_requests", 1, LaneUser, body[CutRequests]},
	KindRetire:       {"retire", 1, LaneUser, body[Retire]},
	KindSetTuning:    {"set_tuning", 1, LaneUser, body[SetTuning]},
	KindSetWeight:    {"set_weight", 1, LaneUser, body[SetWeight]},
	KindAdjustLimit:  {"adjust_limit", 1, LaneUser, body[AdjustLimit]},
	KindSetPools:     {"set_pools", 1, LaneUser, body[SetPools]},
	KindAdjustPolicy: {"adjust_policy", 1, LaneUser, body[AdjustPolicy]},
	KindLockRestart:  {"lock_restart", 1, LaneUser, body[LockRestart]},

	KindSubmit:      {"submit", 1, LaneUser, body[Submit]},
	KindCancel:      {"cancel", 1, LaneUser, body[Cancel]},
	KindSetPriority: {"set_priority", 1, LaneUser, body[SetPriority]},
	KindHold:        {"hold", 1, LaneUser, body[Hold]},
	KindRelease:     {"release", 1, LaneUser, body[Release]},
	KindRequeue:     {"requeue", 1, LaneUser, body[Requeue]},
	KindExtend:      {"extend", 1, LaneUser, body[Extend]},
	KindPurge:       {"purge", 1, LaneUser, body[Purge]},

	KindSettle:           {"settle", 1, LaneUser, body[Settle]},
	KindDropDependencies: {"drop_dependencies", 1, LaneUser, body[DropDependencies]},
	KindOverdue:          {"overdue", 1, LaneUser, body[Overdue]},

	KindPlace:        {"place", 1, LaneUser, body[Place]},
	KindPreempt:      {"preempt", 1, LaneUser, body[Preempt]},
	KindExpireClaims: {"expire_claims", 1, LaneUser, body[ExpireClaims]},
	KindStartOverdue: {"start_overdue", 1, LaneUser, body[StartOverdue]},
	KindSteer:        {"steer", 1, LaneUser, body[Steer]},
	KindSuspend:      {"suspend", 1, LaneUser, body[Suspend]},

	KindBook:           {"book", 1, LaneUser, body[Book]},
	KindCancelBooking:  {"cancel_booking", 1, LaneUser, body[CancelBooking]},
	KindTurnBookings:   {"turn_bookings", 1, LaneUser, body[TurnBookings]},
	KindSetBookingCaps: {"set_booking_caps", 1, LaneUser, body[SetBookingCaps]},

	KindRegister:    {"register", 1, LaneControl, body[Register]},
	KindRenew:       {"renew", 1, LaneControl, body[Renew]},
	KindReport:      {"report", 1, LaneControl, body[Report]},
	KindInventory:   {"inventory", 1, LaneControl, body[Inventory]},
	KindSetNodeMode: {"set_node_mode", 1, LaneUser, body[SetNodeMode]},
	KindConfirmDead: {"confirm_dead", 1, LaneUser, body[ConfirmDead]},
	KindRetireNode:  {"retire_node", 1, LaneUser, body[RetireNode]},
	KindKillForeign: {"kill_foreign", 1, LaneUser, body[KillForeign]},
	KindSetGPUMode:  {"set_gpu_mode", 1, LaneUser, body[SetGPUMode]},

	KindSetNodeLabels: {"set_node_labels", 1, LaneUser, body[SetNodeLabels]},
	KindAdopt:         {"adopt", 1, LaneUser, body[Adopt]},

	KindSuspect:        {"suspect", 1, LaneControl, body[Suspect]},
	KindRankLost:       {"rank_lost", 1, LaneControl, body[RankLost]},
	KindAllocationLost: {"allocation_lost", 1, LaneControl, body[AllocationLost]},

	KindAllocate:          {"allocate", 1, LaneUser, body[Allocate]},
	KindGrant:             {"grant", 1, LaneUser, body[Grant]},
	KindRenewAllocation:   {"renew_allocation", 1, LaneUser, body[RenewAllocation]},
	KindReleaseAllocation: {"release_allocation", 1, LaneUser, body[ReleaseAllocation]},
	KindExpireAllocations: {"expire_allocations", 1, LaneUser, body[ExpireAllocations]},

	KindFoundAuth:         {"found_auth", 1, LaneUser, body[FoundAuth]},
	KindMakeToken:         {"make_token", 1, LaneUser, body[MakeToken]},
	KindDropTokens:        {"drop_tokens", 1, LaneUser, body[DropTokens]},
	KindSetUser:           {"set_user", 1, LaneUser, body[SetUser]},
	KindRemoveUser:        {"remove_user", 1, LaneUser, body[RemoveUser]},
	KindMakeSession:       {"make_session", 1, LaneUser, body[MakeSession]},
	KindRenewSession:      {"renew_session", 1, LaneUser, body[RenewSession]},
	KindRecordCertificate: {"record_certificate", 1, LaneUser, body[RecordCertificate]},
	KindRevokeCertificate: {"revoke_certificate", 1, LaneUser, body[RevokeCertificate]},
	KindBeginRotation:     {"begin_rotation", 1, LaneUser, body[BeginRotation]},
	KindAdvanceRotation:   {"advance_rotation", 1, LaneUser, body[AdvanceRotation]},
	KindAbortRotation:     {"abort_rotation", 1, LaneUser, body[AbortRotation]},
	KindConfirmTrust:      {"confirm_trust", 1, LaneUser, body[ConfirmTrust]},
	KindSetWebhook:        {"set_webhook", 1, LaneUser, body[SetWebhook]},
	KindDropWebhook:       {"drop_webhook", 1, LaneUser, body[DropWebhook]},
	KindTestWebhook:       {"test_webhook", 1, LaneUser, body[TestWebhook]},
	KindMarkDeliveries:    {"mark_deliveries", 1, LaneUser, body[MarkDeliveries]},
	KindSetNotify:         {"set_notify", 1, LaneUser, body[SetNotify]},
	KindNearLimit:         {"near_limit", 1, LaneUser, body[NearLimit]},
	KindSetDefaults:       {"set_defaults", 1, LaneUser, body[SetDefaults]},

	KindBeginImport: {"begin_import", 1, LaneUser, body[BeginImport]},
	KindImportJobs:  {"import_jobs", 1, LaneUser, body[ImportJobs]},
	KindEndImport:   {"end_import", 1, LaneUser, body[EndImport]},
}

// Kinds returns every kind that this program knows, by number.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }

// Known reports whether this program knows the kind.
func (k Kind) Known() bool { _, ok := kinds[k]; return ok }

// Level returns the feature level from which on the kind may be proposed.
func (k Kind) Level() uint32 { return kinds[k].level }

// Lane returns the kind's way into the log.
func (k Kind) Lane() Lane { return kinds[k].lane }

// Fresh returns an empty body of the kind, to decode into; nil for an unknown kind.
func (k Kind) Fresh() Body {
	if info, ok := kinds[k]; ok {
		return info.fresh()
	}
	return nil
}

// String returns the kind's name in logs and the audit trail.
func (k Kind) String() string {
	if info, ok := kinds[k]; ok {
		return info.name
	}
	return "unknown"
}

func body[T any, P interface {
	*T
	Body
}]() Body {
	return P(new(T))
}

// Body is the content of a command, by kind.
type Body interface {
	Kind() Kind
	// Validate returns what is invalid in the body itself, whatever the state is.
	Validate() error
}

// Result is a command's outcome, the same on every peer.
type Result struct {
	Code     model.Code   `cbor:"1,keyasint,omitempty"`
	Job      model.JobID  `cbor:"2,keyasint,omitempty"`
	Number   uint64       `cbor:"3,keyasint,omitempty"` // an attempt's number or a node's epoch, depending on the kind
	Detail   string       `cbor:"4,keyasint,omitempty"` // for a refusal: what, where, what to do
	Verdicts []model.Code `cbor:"5,keyasint,omitempty"` // one for each renewal or report
}

// OK reports whether the command was carried out.
func (r *Result) OK() bool { return r.Code == model.CodeOK }
