//berth:bubble

package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// party is a few books of one cluster, in a bubble: a state whose clock follows, one leader, and calls that reach the
// peers that run.
type party struct {
	t     *testing.T
	dir   string
	state state.State
	books map[model.PeerID]*seat

	mu     sync.Mutex // guards what follows, and the seats
	leader model.PeerID
	term   uint64
	logs   bytes.Buffer
}

// Write takes a line of a log.
func (p *party) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logs.Write(b)
}

// logged returns how many lines of the logs are about something.
func (p *party) logged(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.logs.String(), what)
}

type seat struct {
	*Book

	id    model.PeerID
	ahead time.Duration // of its clock
	stop  context.CancelFunc
	done  chan struct{}
}

func inParty(t *testing.T, test func(*party)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	base := statetest.New(t).State
	synctest.Test(t, func(t *testing.T) {
		p := &party{t: t, dir: dir, state: base, books: map[model.PeerID]*seat{}}
		for _, id := range []model.PeerID{"p1", "p2", "p3"} {
			p.books[id] = &seat{id: id}
			p.start(id)
		}
		defer func() {
			for id := range p.books {
				p.end(id)
			}
		}()
		test(p)
	})
}

// present returns the state with the clock of now, as if an agent had just renewed.
func (p *party) present() state.State {
	s := p.state
	set := s.Settings()
	set.Clock = model.TimeOf(time.Now())
	globals := s.Globals.Fork()
	globals.Put(state.Only{}, set)
	s.Globals = globals.Table()
	return s
}

func (p *party) path(id model.PeerID) string { return filepath.Join(p.dir, string(id), "cluster.json") }

func (p *party) start(id model.PeerID) {
	m := p.books[id]
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	done := make(chan struct{})
	book := NewBook(Config{Path: p.path(id), Log: slog.New(slog.NewTextHandler(p, nil))})
	p.mu.Lock()
	m.Book, m.done = book, done
	p.mu.Unlock()
	go func() {
		defer close(done)
		book.Run(ctx, World{
			State: p.present, Cluster: func() string { return "c1" }, Samples: func() []model.Sample { return nil },
			Wall: func() time.Time {
				p.mu.Lock()
				defer p.mu.Unlock()
				return time.Now().Add(m.ahead)
			},
			Leader: func() (model.PeerID, uint64) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.leader == id {
					return id, p.term
				}
				return p.leader, 0
			},
			Mates: func() (out []model.PeerID) {
				for o := range p.books {
					if o != id {
						out = append(out, o)
					}
				}
				return out
			},
			Ask: func(_ context.Context, of model.PeerID, q Wanted) (Given, error) {
				p.mu.Lock()
				o := p.books[of].Book
				p.mu.Unlock()
				if o != nil {
					return o.Answer(q), nil
				}
				return Given{}, errors.New("it is down")
			},
		})
	}()
	synctest.Wait()
}

func (p *party) end(id model.PeerID) {
	m := p.books[id]
	if m.Book == nil {
		return
	}
	p.mu.Lock()
	m.Book = nil
	p.mu.Unlock()
	m.stop()
	<-m.done
}

// lead makes a peer lead, in another term; empty: none.
func (p *party) lead(id model.PeerID) {
	p.mu.Lock()
	p.leader, p.term = id, p.term+1
	p.mu.Unlock()
	synctest.Wait()
}

// jump sets how far a peer's clock is ahead.
func (p *party) jump(id model.PeerID, ahead time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.books[id].ahead = ahead
}

// pass lets time pass, and waits for all that is due.
func (p *party) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// all returns the records that all peers that run have; it fails the test if they differ.
func (p *party) all() (out []Record) {
	p.t.Helper()
	for time.Now().Second() < 20 { // a minute's record is on its way
		p.pass(time.Second)
	}
	for id, m := range p.books {
		if m.Book == nil {
			continue
		}
		got := m.Between(0, 1<<40)
		if out != nil && !reflect.DeepEqual(out, got) {
			p.t.Fatalf("%s has %d records, another peer %d", id, len(got), len(out))
		}
		out = got
	}
	return out
}

// minutes shows records as minutes after the first, with terms.
func minutes(list []Record) string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%d/%d", r.Minute-list[0].Minute, r.Term))
	}
	return strings.Join(out, " ")
}

// toMinute lets time pass until so many seconds of a minute are over.
func (p *party) toMinute(seconds int) {
	for time.Now().Second() != seconds {
		p.pass(time.Second)
	}
}
