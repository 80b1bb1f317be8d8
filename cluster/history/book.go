package history

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Config is the configuration of a book.
type Config struct {
	Path string       // of the file; empty: records are kept in memory only
	Log  *slog.Logger // nil: nothing is logged
}

// World is a book's access to its peer and the other peers' books.
type World struct {
	State   func() state.State
	Cluster func() string         // the id of the cluster; empty while the peer belongs to none
	Samples func() []model.Sample // of this moment, if the peer leads
	Wall    func() time.Time      // the time of day
	// Leader returns the leader, empty if none is known. Term is 0 unless the peer leads itself with a state that is as
	// new as its leadership.
	Leader func() (id model.PeerID, term uint64)
	// Mates returns the other members of the cluster.
	Mates func() []model.PeerID
	// Ask asks another peer for the records that this one lacks.
	Ask func(ctx context.Context, of model.PeerID, q Wanted) (Given, error)
}

// Wanted is a question for records.
type Wanted struct {
	Has []Run `cbor:"1,keyasint,omitempty"` // what the asking peer has
}

// Given is the answer: what the asking peer lacks.
type Given struct {
	Records []Sent `cbor:"1,keyasint,omitempty"`
}

// Sent is a record on its way. Values that the sender does not know are missing at the end.
type Sent struct {
	Minute Minute  `cbor:"1,keyasint,omitempty"`
	Term   uint64  `cbor:"2,keyasint,omitempty"`
	Values []int64 `cbor:"3,keyasint,omitempty"`
}

// Book is one peer's records. Its methods may be called from any goroutine.
type Book struct {
	cfg   Config
	log   *slog.Logger
	world atomic.Pointer[World]

	mu    sync.Mutex
	ring  Ring
	dirty bool // the ring has more than the file

	// Of the goroutine that runs:
	opened bool         // the file has been read, was not there, or was put aside
	unread time.Time    // when the file was there and could not be read; zero: never
	failed bool         // the file could not be written, which has been logged
	apart  bool         // the peer's clock is far from the cluster's, which has been logged
	leader model.PeerID // that was asked last
	led    time.Time    // since when this peer leads; zero: another one does
	asked  time.Time    // not to ask again before
	saved  time.Time    // when the file was written, or could not be
}

// Intervals of a book's goroutine.
const (
	look    = time.Second      // between two looks at minute and leader
	settles = 5 * time.Second  // for samples to reach a new leader: agents send them every two seconds
	late    = 3 * time.Second  // after the begin of a minute, until other peers ask for its record
	retry   = 10 * time.Second // after a question that did not bring the record of the minute
	answers = 5 * time.Second  // for a peer to answer
	rest    = time.Minute      // after the file could not be written
)

// NewBook returns an empty book, which does nothing before Run.
func NewBook(c Config) *Book {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Book{cfg: c, log: c.Log}
}

// Run takes, fetches and keeps records until the context ends.
func (b *Book) Run(ctx context.Context, w World) {
	b.world.Store(&w)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		b.step(ctx, &w)
		select {
		case <-tick.C:
		case <-ctx.Done():
			if b.opened {
				b.saved = time.Time{}
				b.save(w.Cluster())
			}
			return
		}
	}
}

// step does what is due.
func (b *Book) step(ctx context.Context, w *World) {
	cluster, s := w.Cluster(), w.State()
	set := s.Settings()
	if cluster == "" || set.Incarnation.IsZero() {
		return
	}
	clock := MinuteOf(set.Clock)
	b.open(cluster, clock)
	leader, term := w.Leader()
	b.take(w, &s, term)
	b.fetch(ctx, w, leader, term != 0)
	b.mu.Lock()
	b.dirty = b.ring.Forget(clock) || b.dirty
	b.mu.Unlock()
	b.save(cluster)
}

// open reads the file, once. A file that cannot be read is tried again, and is not written before: it may be there yet.
func (b *Book) open(cluster string, clock Minute) {
	if b.opened || !b.unread.IsZero() && time.Since(b.unread) < rest {
		return
	}
	if b.cfg.Path == "" {
		b.opened = true
		return
	}
	list, err := read(b.cfg.Path, cluster)
	switch {
	case err == nil:
		b.mu.Lock()
		since := b.ring.list // while the file could not be read
		b.ring.list = list
		for _, one := range since {
			b.ring.Put(one, clock)
		}
		b.mu.Unlock()
	case smallfile.IsDamaged(err) || errors.Is(err, errForeign):
		aside := putAside(b.cfg.Path)
		b.log.Error("history_put_aside", "path", b.cfg.Path, "err", err, "to", b.cfg.Path+asideSuffix, "renamed", aside == nil,
			"remedy", "none is needed: the records are fetched from other peers; check the disk")
	default:
		if b.unread.IsZero() {
			b.log.Error("history_not_read", "path", b.cfg.Path, "err", err,
				"remedy", "check the file's owner and the disk; the next try follows in a minute, and until then the records are fetched from other peers and stay in memory")
		}
		b.unread = time.Now()
		return
	}
	b.opened = true
}

// take takes the record of the present minute if this peer leads and there is none yet.
func (b *Book) take(w *World, s *state.State, term uint64) {
	if term == 0 {
		b.led = time.Time{}
		return
	}
	if b.led.IsZero() {
		b.led = time.Now()
	}
	now := model.TimeOf(w.Wall())
	minute, clock := MinuteOf(now), s.Settings().Clock
	b.mu.Lock()
	there := b.ring.Has(minute)
	b.mu.Unlock()
	if there || time.Since(b.led) < settles {
		return
	}
	if apart := now.Sub(clock).Abs() > ahead*time.Minute; apart {
		if !b.apart {
			b.log.Warn("history_clock", "wall", now.Time(), "cluster", clock.Time(), "err", "this peer's clock is more than 5 minutes from the cluster's: no record is taken",
				"remedy", "check time synchronisation")
		}
		b.apart = true
		return
	}
	b.apart = false
	one := Record{Minute: minute, Term: term, Values: Take(s, w.Samples(), now)}
	if _, still := w.Leader(); still == term {
		b.merge([]Record{one}, MinuteOf(clock))
	}
}

// merge adds records.
func (b *Book) merge(list []Record, clock Minute) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range list {
		b.dirty = b.ring.Put(one, clock) || b.dirty
	}
}

// fetch asks the leader for what this peer lacks, soon after the begin of each minute, and at once if the leader is
// another one than before. The leader itself asks all others: it may have been down for long, and the leader before it
// may have come back with records that no peer has fetched.
func (b *Book) fetch(ctx context.Context, w *World, leader model.PeerID, leads bool) {
	if leader == "" || !leads && !b.isMate(w, leader) {
		return
	}
	if leader != b.leader {
		b.leader, b.asked = leader, time.Time{}
	}
	if time.Now().Before(b.asked) {
		return
	}
	of := []model.PeerID{leader}
	if leads {
		of = w.Mates()
	}
	var calls sync.WaitGroup
	var fails atomic.Int64
	for _, id := range of {
		calls.Go(func() {
			if !b.ask(ctx, w, id) {
				fails.Add(1)
			}
		})
	}
	calls.Wait()
	minute := MinuteOf(model.TimeOf(w.Wall()))
	b.mu.Lock()
	there := b.ring.Has(minute)
	b.mu.Unlock()
	if pause := retry; !leads && (fails.Load() > 0 || !there) {
		b.asked = time.Now().Add(pause)
		return
	}
	b.asked = time.Now().Add((minute + 1).Time().Time().Sub(w.Wall()) + late)
}

// isMate reports whether a peer is another member.
func (*Book) isMate(w *World, id model.PeerID) bool {
	for _, m := range w.Mates() {
		if m == id {
			return true
		}
	}
	return false
}

// ask adds what another peer has and this one lacks, and reports whether that peer has answered.
func (b *Book) ask(ctx context.Context, w *World, of model.PeerID) bool {
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	b.mu.Lock()
	q := Wanted{Has: b.ring.Runs()}
	b.mu.Unlock()
	given, err := w.Ask(ctx, of, q)
	if err != nil {
		b.log.Debug("cannot fetch records of the cluster's history", "of", of, "err", err)
		return false
	}
	list := make([]Record, 0, len(given.Records))
	for _, r := range given.Records {
		one := Record{Minute: r.Minute, Term: r.Term, Values: noValues()}
		for i := range min(len(r.Values), len(one.Values)) {
			one.Values[i] = max(r.Values[i], None)
		}
		list = append(list, one)
	}
	s := w.State()
	b.merge(list, MinuteOf(s.Settings().Clock))
	return true
}

// Answer returns what another peer lacks.
func (b *Book) Answer(q Wanted) Given {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out Given
	for _, r := range b.ring.Missing(q.Has) {
		out.Records = append(out.Records, Sent{Minute: r.Minute, Term: r.Term, Values: r.Values[:]})
	}
	return out
}

// Between returns the records from one minute up to another, which is left out.
func (b *Book) Between(from, to Minute) []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring.Between(from, to)
}

// save writes the file if it lacks something.
func (b *Book) save(cluster string) {
	var list []Record
	b.mu.Lock()
	due := b.dirty && b.opened && b.cfg.Path != "" && (!b.failed || time.Since(b.saved) >= rest)
	if due {
		list, b.dirty = b.ring.Between(0, 1<<62), false
	}
	b.mu.Unlock()
	if !due {
		return
	}
	b.saved = time.Now()
	err := write(b.cfg.Path, cluster, list)
	if err == nil {
		b.failed = false
		return
	}
	if !b.failed {
		b.log.Warn("history_not_written", "path", b.cfg.Path, "err", err, "remedy", "check the disk; the records stay in memory and with other peers, and the next try follows in a minute")
	}
	b.failed = true
	b.mu.Lock()
	b.dirty = true
	b.mu.Unlock()
}
