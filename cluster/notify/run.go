package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of deliveries under way.
const (
	maxTries   = 256 // at once
	maxPerHost = 4   // at once, to one receiver
	pace       = 20 * time.Millisecond
	markAgain  = time.Second // after marks could not be noted
)

// Peer is the peer that leads.
type Peer interface {
	Propose(ctx context.Context, commands ...command.Command) ([]command.Result, error)
	State() state.State
	Changed(topics model.TopicSet, after uint64) <-chan struct{}
}

// Config is the configuration of deliveries.
type Config struct {
	Peer  Peer
	Actor string // the actor that notes outcomes
	Wall  func() time.Time
	// Send tries once; [World.Send] does.
	Send   func(ctx context.Context, m *Message) (status int, err error)
	Random func() uint32 // from 0 to 1,000
	Log    *slog.Logger
	Counts *Counts
}

// Counts sums up the tries of a process. It may be read at any time.
type Counts struct {
	Delivered atomic.Uint64
	Failed    atomic.Uint64 // tries that did not arrive
}

func (c *Counts) count(m *command.Mark) {
	if m.OK {
		c.Delivered.Add(1)
	} else {
		c.Failed.Add(1)
	}
}

// Run delivers until the context ends. Only the leader runs it.
func Run(ctx context.Context, c Config) {
	r := &runner{
		Config: c, busy: map[outbox.Key]bool{}, hosts: map[string]int{}, poke: make(chan struct{}, 1),
		told: make(chan struct{}, 1),
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { r.note(ctx) })
	for ctx.Err() == nil {
		next, seen := r.start(ctx, &work)
		timer := time.NewTimer(next)
		select {
		case <-c.Peer.Changed(topics(), seen):
		case <-r.poke:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		select { // changes come in crowds
		case <-time.After(pace):
		case <-ctx.Done():
		}
	}
}

func topics() model.TopicSet {
	return model.TopicSet(0).With(model.TopicJob).With(model.TopicSettings)
}

func last(s *state.State) uint64 {
	at := s.Settings().Topics
	return max(at[model.TopicJob], at[model.TopicSettings])
}

// runner is the deliveries under way.
type runner struct {
	Config

	poke chan struct{} // there is room for more
	told chan struct{} // there is something to note

	mu    sync.Mutex
	busy  map[outbox.Key]bool // being tried, or tried and not noted yet
	hosts map[string]int      // tries under way
	total int
	marks []command.Mark
}

// start starts deliveries that are due and have room, and returns when there may be more and the state's
// index that it has seen. A receiver that hangs holds up its own deliveries only.
func (r *runner) start(ctx context.Context, work *sync.WaitGroup) (next time.Duration, seen uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Not before: a delivery that is no longer busy has been noted, and must not be seen in its old state.
	now := r.Peer.State()
	s := &now
	hosts := map[outbox.OutletID]string{}
	taken := map[string]int{}
	var list []outbox.Delivery
	list, next = due(s, r.now(s), maxTries-r.total, func(k outbox.Key) bool {
		host, known := hosts[k.Outlet]
		if !known {
			host = hostOf(addressOf(s, k.Outlet))
			hosts[k.Outlet] = host
		}
		if r.busy[k] || r.hosts[host]+taken[host] >= maxPerHost {
			return false
		}
		taken[host]++
		return true
	})
	for i := range list {
		d := &list[i]
		host := hosts[d.Key.Outlet]
		r.busy[d.Key] = true
		r.hosts[host]++
		r.total++
		work.Go(func() { r.try(ctx, s, d, host) })
	}
	return next, last(s)
}

// now returns the time that deliveries are judged by.
func (r *runner) now(s *state.State) model.Time {
	return max(model.TimeOf(r.Wall()), s.Settings().Clock)
}

// try delivers once and queues the outcome to be noted.
func (r *runner) try(ctx context.Context, s *state.State, d *outbox.Delivery, host string) {
	began := r.Wall()
	m := command.Mark{Key: d.Key, Tries: d.Tries + 1}
	message, err := compose(s, d)
	if err != nil {
		m.Next = model.Never
	} else {
		var status int
		status, err = r.Send(ctx, message)
		m.Status = uint16(status)
		m.OK = err == nil
	}
	m.Took = max(r.Wall().Sub(began), 0)
	if err != nil {
		m.Error = model.Clip(err.Error())
		if m.Next == 0 {
			m.Next = d.Again(r.now(s), r.Random())
		}
		if gone, is := errors.AsType[*UnreachableError](err); is {
			err, m.Took = gone.Unwrap(), 0 // how long it took would give the cause away
		}
		r.Log.Info("delivery failed", "delivery", MessageID(d), "try", m.Tries, "err", err)
	}
	r.mu.Lock()
	r.hosts[host]--
	if r.hosts[host] == 0 {
		delete(r.hosts, host)
	}
	r.total--
	if ctx.Err() == nil { // otherwise it was cut off: the next leader tries again
		r.marks = append(r.marks, m)
		r.Counts.count(&m)
	}
	r.mu.Unlock()
	signal(r.poke)
	signal(r.told)
}

// signal wakes the receiver, now or at its next wait.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// note writes outcomes to the log, many at a time, until the context ends.
func (r *runner) note(ctx context.Context) {
	for {
		select {
		case <-r.told:
		case <-ctx.Done():
			return
		}
		pause := pace
		for marks := r.take(); len(marks) > 0; marks = r.take() {
			if err := r.propose(ctx, marks); err != nil {
				r.Log.Warn("cannot note delivery outcomes, retrying", "deliveries", len(marks), "err", err)
				signal(r.told)
				pause = markAgain
				break
			}
			r.noted(marks)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// take returns the outcomes to note, which stay queued until they are noted.
func (r *runner) take() []command.Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]command.Mark(nil), r.marks[:min(len(r.marks), command.MaxMarks)]...)
}

func (r *runner) propose(ctx context.Context, marks []command.Mark) error {
	c, err := command.New(r.Actor, &command.MarkDeliveries{Marks: marks})
	if err != nil {
		return err
	}
	results, err := r.Peer.Propose(ctx, c)
	if err == nil && !results[0].OK() {
		err = errors.New(results[0].Detail)
	}
	return err
}

// noted drops outcomes that the state contains.
func (r *runner) noted(marks []command.Mark) {
	r.mu.Lock()
	for i := range marks {
		delete(r.busy, marks[i].Key)
	}
	r.marks = r.marks[len(marks):]
	r.mu.Unlock()
	signal(r.poke)
}
