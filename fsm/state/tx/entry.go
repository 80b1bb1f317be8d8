package tx

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// Tick moves the state's clock, which never goes back.
func (t *Tx) Tick(commands []command.Command) {
	s := &t.Settings
	t.Clock = s.Clock
	free := s.Incarnation.IsZero()
	for i := range commands {
		free = free || commands[i].Kind() == command.KindAdvanceClock
	}
	if t.Meta.At > s.Clock && (free || t.Meta.At.Sub(s.Clock) <= state.MaxAhead) {
		t.Clock = t.Meta.At
	}
	if !s.Incarnation.IsZero() {
		s.Clock = t.Clock
	}
	announceLeader(t)
}

// Finish stamps the topics, closes the digest's link and publishes.
func (t *Tx) Finish(results []command.Result) (state.State, state.Changes) {
	announceBacklog(t)
	c := digest.NewCommit(t.From.Fingerprint, t.Meta.Hash)
	before := t.From.Settings()
	if t.queue.draft != nil || t.cpuQueue.draft != nil || t.due.draft != nil || t.Waiting.draft != nil || t.settling.draft != nil ||
		t.deadlines.draft != nil {
		c.Wakes = c.Wakes.With(model.TopicQueue)
	}
	for _, cell := range t.List {
		if cell == AnyCell(&t.globals) {
			t.stamp(c, &before)
		}
		cell.Commit(c)
	}
	next := t.Close(c.Seal(results))
	return next, state.Changes{Topics: c.Wakes, Notices: t.News.List}
}

func (t *Tx) stamp(c *digest.Commit, before *model.Settings) {
	after := t.Settings
	if after.Incarnation.IsZero() {
		return
	}
	// What jobs count there is no setting: those that wait for settings are many.
	plain := func(s model.Settings) model.Settings {
		s.Clock, s.NextJob, s.Services, s.RequestsFrom, s.Totals, s.Topics, s.Audit = 0, 0, 0, 0, model.Totals{}, model.Topics{},
			model.AuditHead{}
		s.Requests, s.ArchivedTo, s.EndedBytes = model.Requests{}, 0, 0
		return s
	}
	if plain(after) != plain(*before) {
		c.Wakes = c.Wakes.With(model.TopicSettings)
	}
	for topic := range model.Topic(model.TopicCount) {
		if c.Wakes.Has(topic) {
			after.Topics[topic] = t.Meta.Index
		}
	}
	t.globals.Put(after)
}

// Applier carries out the body of one command.
type Applier func(*Tx, command.Body) command.Result
