package apply

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/admin"
	"github.com/berth-gpu/berth/fsm/state/apply/bookings"
	"github.com/berth-gpu/berth/fsm/state/apply/fleet"
	"github.com/berth-gpu/berth/fsm/state/apply/jobs"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/apply/services"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Apply returns the next state after one log entry: all its commands in order, each with its own result. It
// never panics: a command that does is skipped alone, on every peer alike, and the entry is applied again
// without it.
func Apply(s state.State, m state.Meta, commands []command.Command) (state.State, []command.Result, state.Changes) {
	return appliers.apply(&s, m, commands)
}

func (r rules) apply(s *state.State, m state.Meta, commands []command.Command) (state.State, []command.Result, state.Changes) {
	skip := make([]bool, len(commands))
	for {
		t := tx.Begin(s, m)
		results := make([]command.Result, len(commands))
		panicked := r.runAll(t, commands, results, skip)
		if panicked < 0 {
			links := t.Audit(commands, results)
			next, changes := t.Finish(results)
			changes.Audit, changes.Retired = links, t.Retired
			for i := range skip {
				if skip[i] {
					changes.Panics = append(changes.Panics, i)
				}
			}
			return next, results, changes
		}
		skip[panicked] = true
	}
}

// runAll carries out the commands until one panics; it returns that one, or -1.
func (r rules) runAll(t *tx.Tx, commands []command.Command, results []command.Result, skip []bool) (at int) {
	defer func() {
		if at >= 0 && recover() == nil {
			at = -1
		}
	}()
	t.Tick(commands)
	for at = range commands {
		if skip[at] {
			results[at] = command.Result{Code: model.CodePanic, Detail: "a defect stopped this command; nothing was changed"}
		} else {
			results[at] = r.run(t, &commands[at])
			if t.Repeat {
				t.Repeats = append(t.Repeats, at)
			}
		}
	}
	return at
}

// run carries out one command, or repeats the answer that it got before.
func (r rules) run(t *tx.Tx, c *command.Command) command.Result {
	t.Actor, t.Repeat = c.Actor, false
	s := &t.Settings
	switch {
	case c.Err != nil:
		return tx.Refuse(model.CodeMalformed, "%v", c.Err)
	case s.Incarnation.IsZero() && c.Kind() != command.KindBootstrap:
		return tx.Refuse(model.CodeNotBootstrapped, "the cluster has no state yet: bootstrap it first")
	case c.Kind().Level() > s.Level && !s.Incarnation.IsZero():
		return tx.Refuse(model.CodeLevel, "%s needs feature level %d, the cluster is at %d: upgrade every peer, then raise it",
			c.Kind(), c.Kind().Level(), s.Level)
	case t.Meta.At > t.Clock && !s.Incarnation.IsZero():
		return tx.Refuse(model.CodeClock, "stamped %s ahead of the cluster's clock: check the clock of peer %s",
			t.Meta.At.Sub(t.Clock).Round(time.Second), t.Meta.By)
	case c.RequestID != "":
		return t.Once(c, r[c.Kind()])
	}
	return r[c.Kind()](t, c.Body)
}

// rules is how each kind of command is carried out.
type rules map[command.Kind]tx.Applier

// on returns an applier that calls a method for one kind of body.
func on[B any, P interface {
	*B
	command.Body
}](apply func(*tx.Tx, P) command.Result) tx.Applier {
	return func(t *tx.Tx, b command.Body) command.Result {
		body, fits := b.(P)
		if !fits {
			return tx.Refuse(model.CodeMalformed, "the body does not belong to the command's kind")
		}
		return apply(t, body)
	}
}

// appliers has one entry for every kind; a test counts them.
var appliers = rules{
	command.KindBootstrap:    on(admin.Bootstrap),
	command.KindRestored:     on(admin.Restored),
	command.KindResume:       on(admin.Resume),
	command.KindAdvanceClock: on(admin.AdvanceClock),
	command.KindRaiseLevel:   on(admin.RaiseLevel),
	command.KindLockRestart:  on(admin.LockRestart),
	command.KindSetRunning:   on(admin.SetRunning),
	command.KindSetPolicy:    on(admin.SetPolicy),
	command.KindSetTuning:    on(admin.SetTuning),
	command.KindAdjustPolicy: on(admin.AdjustPolicy),
	command.KindSetWeight:    on(admin.SetWeight),
	command.KindSteer:        on(admin.Steer),
	command.KindSuspend:      on(placement.Suspend),

	command.KindBook:           on(bookings.Book),
	command.KindCancelBooking:  on(bookings.CancelBooking),
	command.KindTurnBookings:   on(bookings.TurnBookings),
	command.KindSetBookingCaps: on(bookings.SetBookingCaps),

	command.KindSetRetention: on(admin.SetRetention),
	command.KindSetLimit:     on(limits.SetLimit),
	command.KindAdjustLimit:  on(limits.Adjust),
	command.KindSetPools:     on(limits.SetPools),
	command.KindSetDefaults:  on(admin.SetDefaults),
	command.KindSetPeer:      on(admin.SetPeer),
	command.KindDropPeer:     on(admin.DropPeer),
	command.KindCutRequests:  on(admin.CutRequests),
	command.KindRetire:       on(jobs.Retire),

	command.KindSubmit:      on(jobs.Submit),
	command.KindCancel:      on(jobs.Cancel),
	command.KindSetPriority: on(jobs.SetPriority),
	command.KindHold:        on(jobs.Hold),
	command.KindRelease:     on(jobs.Release),
	command.KindRequeue:     on(jobs.Requeue),
	command.KindExtend:      on(jobs.Extend),
	command.KindPurge:       on(jobs.Purge),

	command.KindSettle:           on(jobs.Settle),
	command.KindDropDependencies: on(jobs.DropDependencies),
	command.KindOverdue:          on(jobs.Overdue),

	command.KindPlace:        on(placement.Place),
	command.KindPreempt:      on(placement.Preempt),
	command.KindExpireClaims: on(placement.ExpireClaims),
	command.KindStartOverdue: on(placement.StartOverdue),

	command.KindRegister:    on(fleet.Register),
	command.KindRenew:       on(fleet.Renew),
	command.KindReport:      on(fleet.Report),
	command.KindInventory:   on(fleet.Inventory),
	command.KindSetNodeMode: on(fleet.SetNodeMode),
	command.KindConfirmDead: on(fleet.ConfirmDead),
	command.KindRetireNode:  on(fleet.RetireNode),
	command.KindKillForeign: on(fleet.KillForeign),
	command.KindAdopt:       on(admin.Adopt),
	command.KindSetGPUMode:  on(fleet.SetGPUMode),

	command.KindSetNodeLabels: on(fleet.SetNodeLabels),

	command.KindSuspect:        on(fleet.Suspect),
	command.KindRankLost:       on(fleet.RankLost),
	command.KindAllocationLost: on(fleet.AllocationLost),

	command.KindAllocate:          on(services.Allocate),
	command.KindGrant:             on(services.Grant),
	command.KindRenewAllocation:   on(services.RenewAllocation),
	command.KindReleaseAllocation: on(services.ReleaseAllocation),
	command.KindExpireAllocations: on(services.ExpireAllocations),

	command.KindFoundAuth:         on(admin.FoundAuth),
	command.KindMakeToken:         on(admin.MakeToken),
	command.KindDropTokens:        on(admin.DropTokens),
	command.KindMakeSession:       on(admin.MakeSession),
	command.KindRenewSession:      on(admin.RenewSession),
	command.KindRecordCertificate: on(admin.RecordCertificate),
	command.KindRevokeCertificate: on(admin.RevokeCertificate),
	command.KindBeginRotation:     on(admin.BeginRotation),
	command.KindAdvanceRotation:   on(admin.AdvanceRotation),
	command.KindAbortRotation:     on(admin.AbortRotation),
	command.KindConfirmTrust:      on(admin.ConfirmTrust),
	command.KindSetUser:           on(admin.SetUser),
	command.KindRemoveUser:        on(admin.RemoveUser),
	command.KindSetWebhook:        on(admin.SetWebhook),
	command.KindDropWebhook:       on(admin.DropWebhook),
	command.KindTestWebhook:       on(admin.TestWebhook),
	command.KindMarkDeliveries:    on(admin.MarkDeliveries),
	command.KindSetNotify:         on(admin.SetNotify),
	command.KindNearLimit:         on(jobs.NearLimit),

	command.KindBeginImport: on(admin.BeginImport),
	command.KindImportJobs:  on(admin.ImportJobs),
	command.KindEndImport:   on(admin.EndImport),
}
