package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Meta is the content of an entry in addition to its commands.
type Meta struct {
	Index uint64     // in the log
	Term  uint64     // of the leader that appended it
	At    model.Time // by the proposer's clock
	By    string     // the proposing peer
	Hash  model.Hash // of the entry's bytes
}

// Changes is what an entry has changed, for waiting readers.
type Changes struct {
	Topics model.TopicSet
	Panics []int // commands that panicked and were skipped: each is a defect to report

	Audit   []AuditLink    // what the entry adds to the audit trail, in order
	Retired []model.JobID  // jobs that left the state
	Notices []model.Notice // the notices of the entry, in order
}

// maxAhead is how far an entry's stamp may be ahead of the state's clock.
const maxAhead = 5 * time.Minute

// Apply returns the next state after one log entry: all its commands in order, each with its own result. It
// never panics: a command that does is skipped alone, on every peer alike, and the entry is applied again
// without it.
func Apply(s State, m Meta, commands []command.Command) (State, []command.Result, Changes) {
	return appliers.apply(&s, m, commands)
}

func (r rules) apply(s *State, m Meta, commands []command.Command) (State, []command.Result, Changes) {
	skip := make([]bool, len(commands))
	for {
		t := begin(s, m)
		results := make([]command.Result, len(commands))
		panicked := r.runAll(t, commands, results, skip)
		if panicked < 0 {
			links := t.audit(commands, results)
			next, changes := t.finish(results)
			changes.Audit, changes.Retired = links, t.retired
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
func (r rules) runAll(t *tx, commands []command.Command, results []command.Result, skip []bool) (at int) {
	defer func() {
		if at >= 0 && recover() == nil {
			at = -1
		}
	}()
	t.tick(commands)
	for at = range commands {
		if skip[at] {
			results[at] = command.Result{Code: model.CodePanic, Detail: "a defect stopped this command; nothing was changed"}
		} else {
			results[at] = r.run(t, &commands[at])
			if t.repeat {
				t.repeats = append(t.repeats, at)
			}
		}
	}
	return at
}

// tick moves the state's clock, which never goes back.
func (t *tx) tick(commands []command.Command) {
	s := &t.settings
	t.clock = s.Clock
	free := s.Incarnation.IsZero()
	for i := range commands {
		free = free || commands[i].Kind() == command.KindAdvanceClock
	}
	if t.meta.At > s.Clock && (free || t.meta.At.Sub(s.Clock) <= maxAhead) {
		t.clock = t.meta.At
	}
	if !s.Incarnation.IsZero() {
		s.Clock = t.clock
	}
	announceLeader(t)
}

// run carries out one command, or repeats the answer that it got before.
func (r rules) run(t *tx, c *command.Command) command.Result {
	t.actor, t.repeat = c.Actor, false
	s := &t.settings
	switch {
	case c.Err != nil:
		return refuse(model.CodeMalformed, "%v", c.Err)
	case s.Incarnation.IsZero() && c.Kind() != command.KindBootstrap:
		return refuse(model.CodeNotBootstrapped, "the cluster has no state yet: bootstrap it first")
	case c.Kind().Level() > s.Level && !s.Incarnation.IsZero():
		return refuse(model.CodeLevel, "%s needs feature level %d, the cluster is at %d: upgrade every peer, then raise it",
			c.Kind(), c.Kind().Level(), s.Level)
	case t.meta.At > t.clock && !s.Incarnation.IsZero():
		return refuse(model.CodeClock, "stamped %s ahead of the cluster's clock: check the clock of peer %s",
			t.meta.At.Sub(t.clock).Round(time.Second), t.meta.By)
	case c.RequestID != "":
		return t.once(c, r[c.Kind()])
	}
	return r[c.Kind()](t, c.Body)
}

// finish stamps the topics, closes the digest's link and publishes.
func (t *tx) finish(results []command.Result) (State, Changes) {
	announceBacklog(t)
	c := newCommit(t.from.digest, t.meta.Hash)
	before := t.from.Settings()
	if t.queue.draft != nil || t.due.draft != nil || t.waiting.draft != nil || t.settling.draft != nil || t.deadlines.draft != nil {
		c.wakes = c.wakes.With(model.TopicQueue)
	}
	for _, cell := range t.list {
		if cell == anyCell(&t.globals) {
			t.stamp(c, &before)
		}
		cell.commit(c)
	}
	next := t.close(c.seal(results))
	return next, Changes{Topics: c.wakes, Notices: t.news.list}
}

func (t *tx) stamp(c *commit, before *model.Settings) {
	after := t.settings
	if after.Incarnation.IsZero() {
		return
	}
	plain := func(s model.Settings) model.Settings {
		s.Clock, s.NextJob, s.Services, s.RequestsFrom, s.Totals, s.Topics, s.Audit = 0, 0, 0, 0, model.Totals{}, model.Topics{}, model.AuditHead{}
		s.Requests = model.Requests{}
		return s
	}
	if plain(after) != plain(*before) {
		c.wakes = c.wakes.With(model.TopicSettings)
	}
	for topic := range model.Topic(model.TopicCount) {
		if c.wakes.Has(topic) {
			after.Topics[topic] = t.meta.Index
		}
	}
	t.globals.put(after)
}

// applier carries out the body of one command.
type applier func(*tx, command.Body) command.Result

// rules is how each kind of command is carried out.
type rules map[command.Kind]applier

// on returns an applier that calls a method for one kind of body.
func on[B any, P interface {
	*B
	command.Body
}](apply func(*tx, P) command.Result) applier {
	return func(t *tx, b command.Body) command.Result {
		body, fits := b.(P)
		if !fits {
			return refuse(model.CodeMalformed, "the body does not belong to the command's kind")
		}
		return apply(t, body)
	}
}

// appliers has one entry for every kind; a test counts them.
var appliers = rules{
	command.KindBootstrap:    on(applyBootstrap),
	command.KindRestored:     on(applyRestored),
	command.KindResume:       on(applyResume),
	command.KindAdvanceClock: on(applyAdvanceClock),
	command.KindRaiseLevel:   on(applyRaiseLevel),
	command.KindSetRunning:   on(applySetRunning),
	command.KindSetPolicy:    on(applySetPolicy),
	command.KindSetTuning:    on(applySetTuning),
	command.KindAdjustPolicy: on(applyAdjustPolicy),
	command.KindSetWeight:    on(applySetWeight),
	command.KindSteer:        on(applySteer),
	command.KindSuspend:      on(applySuspend),

	command.KindBook:           on(applyBook),
	command.KindCancelBooking:  on(applyCancelBooking),
	command.KindTurnBookings:   on(applyTurnBookings),
	command.KindSetBookingCaps: on(applySetBookingCaps),

	command.KindSetRetention: on(applySetRetention),
	command.KindSetLimit:     on(applySetLimit),
	command.KindAdjustLimit:  on(applyAdjustLimit),
	command.KindSetPools:     on(applySetPools),
	command.KindSetDefaults:  on(applySetDefaults),
	command.KindSetPeer:      on(applySetPeer),
	command.KindDropPeer:     on(applyDropPeer),
	command.KindCutRequests:  on(applyCutRequests),
	command.KindRetire:       on(applyRetire),

	command.KindSubmit:      on(applySubmit),
	command.KindCancel:      on(applyCancel),
	command.KindSetPriority: on(applySetPriority),
	command.KindHold:        on(applyHold),
	command.KindRelease:     on(applyRelease),
	command.KindRequeue:     on(applyRequeue),
	command.KindExtend:      on(applyExtend),

	command.KindSettle:           on(applySettle),
	command.KindDropDependencies: on(applyDropDependencies),
	command.KindOverdue:          on(applyOverdue),

	command.KindPlace:        on(applyPlace),
	command.KindPreempt:      on(applyPreempt),
	command.KindExpireClaims: on(applyExpireClaims),
	command.KindStartOverdue: on(applyStartOverdue),

	command.KindRegister:    on(applyRegister),
	command.KindRenew:       on(applyRenew),
	command.KindReport:      on(applyReport),
	command.KindInventory:   on(applyInventory),
	command.KindSetNodeMode: on(applySetNodeMode),
	command.KindConfirmDead: on(applyConfirmDead),
	command.KindRetireNode:  on(applyRetireNode),
	command.KindKillForeign: on(applyKillForeign),
	command.KindSetGPUMode:  on(applySetGPUMode),

	command.KindSetNodeLabels: on(applySetNodeLabels),

	command.KindSuspect:        on(applySuspect),
	command.KindSilent:         on(applySilent),
	command.KindRankLost:       on(applyRankLost),
	command.KindAllocationLost: on(applyAllocationLost),

	command.KindAllocate:          on(applyAllocate),
	command.KindGrant:             on(applyGrant),
	command.KindRenewAllocation:   on(applyRenewAllocation),
	command.KindReleaseAllocation: on(applyReleaseAllocation),
	command.KindExpireAllocations: on(applyExpireAllocations),

	command.KindFoundAuth:      on(applyFoundAuth),
	command.KindMakeToken:      on(applyMakeToken),
	command.KindDropTokens:     on(applyDropTokens),
	command.KindSetUser:        on(applySetUser),
	command.KindRemoveUser:     on(applyRemoveUser),
	command.KindSetWebhook:     on(applySetWebhook),
	command.KindDropWebhook:    on(applyDropWebhook),
	command.KindTestWebhook:    on(applyTestWebhook),
	command.KindMarkDeliveries: on(applyMarkDeliveries),
	command.KindSetNotify:      on(applySetNotify),
	command.KindNearLimit:      on(applyNearLimit),

	command.KindBeginImport: on(applyBeginImport),
	command.KindImportJobs:  on(applyImportJobs),
	command.KindEndImport:   on(applyEndImport),
}
