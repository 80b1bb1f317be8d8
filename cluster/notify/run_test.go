package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// fake is a peer that leads, without Raft.
type fake struct {
	mu      sync.Mutex
	c       *statetest.Cluster
	zero    time.Time
	waiters []chan struct{}
	fail    error
	marks   int // proposals
	counts  Counts
}

func newFake(t *testing.T) *fake {
	f := &fake{c: statetest.New(t), zero: time.Now()}
	f.c.Unchecked = true
	return f
}

// wall returns the time of day, which goes on from where the cluster's clock began.
func (f *fake) wall() time.Time { return statetest.Start.Time().Add(time.Since(f.zero)) }

func (f *fake) with(change func(*statetest.Cluster)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.c.Now = model.TimeOf(f.wall())
	f.c.Do(&command.AdvanceClock{}) // as the leader's housekeeping does
	change(f.c)
	for _, w := range f.waiters {
		close(w)
	}
	f.waiters = nil
}

// crowd submits so many jobs at once.
func (f *fake) crowd(jobs int) {
	for range jobs {
		f.with(func(c *statetest.Cluster) { c.Submit(1) })
	}
}

func (f *fake) Propose(_ context.Context, commands ...command.Command) (out []command.Result, err error) {
	f.with(func(c *statetest.Cluster) {
		f.marks++
		if err = f.fail; err == nil {
			out = c.Entry(commands...)
		}
	})
	return out, err
}

func (f *fake) State() state.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.c.State
}

func (f *fake) Changed(set model.TopicSet, after uint64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan struct{})
	if last(&f.c.State) > after {
		close(ch)
	} else {
		f.waiters = append(f.waiters, ch)
	}
	return ch
}

// receivers are the world as deliveries see it.
type receivers struct {
	mu   sync.Mutex
	ways map[string]func(context.Context) (int, error) // by address; none: it takes everything
	got  map[string][]string                           // webhook-ids that were taken, by address
	at   map[string][]time.Duration                    // when it was tried
	zero time.Time
}

func newReceivers() *receivers {
	return &receivers{
		ways: map[string]func(context.Context) (int, error){}, got: map[string][]string{}, at: map[string][]time.Duration{},
		zero: time.Now(),
	}
}

func (r *receivers) send(ctx context.Context, m *Message) (int, error) {
	r.mu.Lock()
	way := r.ways[m.URL]
	r.at[m.URL] = append(r.at[m.URL], time.Since(r.zero))
	r.mu.Unlock()
	status, err := 200, error(nil)
	if way != nil {
		status, err = way(ctx)
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got[m.URL] = append(r.got[m.URL], m.ID)
	}
	return status, err
}

func (r *receivers) set(url string, way func(context.Context) (int, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ways[url] = way
}

func (r *receivers) taken(url string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[url])
}

func (r *receivers) tries(url string) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.at[url])
}

// deliver runs a leader's deliveries until the returned function is called.
func deliver(f *fake, r *receivers) (stop func()) { return deliverBy(f, f, r) }

func deliverBy(peer Peer, f *fake, r *receivers) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Config{
			Peer: peer, Actor: "peer:p1", Wall: f.wall, Send: r.send, Random: func() uint32 { return 500 }, Log: slog.New(slog.DiscardHandler),
			Counts: &f.counts,
		})
	}()
	return func() { cancel(); <-done }
}

func hook(id, url string) *command.SetWebhook {
	return &command.SetWebhook{Webhook: outbox.Webhook{
		ID: outbox.WebhookID(id), Scope: model.ScopeKey{Kind: model.ScopeCluster}, URL: url,
		Events: model.NoticeSet(0).With(model.NoticeJobQueued), Secret: model.NewHookSecret([32]byte{1}),
	}}
}

func answers(status int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return status, fmt.Errorf("it answers %d", status) }
}

func hangs(ctx context.Context) (int, error) {
	select {
	case <-time.After(tryLimit):
	case <-ctx.Done():
	}
	return 0, errors.New("no answer")
}

func TestDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		defer deliver(f, r)()
		f.with(func(c *statetest.Cluster) { c.Do(hook("a", "https://a")); c.Do(hook("b", "https://b")) })
		for range 30 {
			f.with(func(c *statetest.Cluster) { c.Submit(1) })
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, url := range []string{"https://a", "https://b"} {
			ids := r.taken(url)
			slices.Sort(ids)
			if len(ids) != 30 || len(slices.Compact(ids)) != 30 {
				t.Errorf("%s has taken %d deliveries", url, len(ids))
			}
		}
		s := f.State()
		if s.Outgoing.Len() != 0 || s.Delivered.Len() != 60 {
			t.Errorf("%d wait, %d have ended", s.Outgoing.Len(), s.Delivered.Len())
		}
		if f.marks > 40 {
			t.Errorf("%d proposals for 60 deliveries", f.marks)
		}
	})
}

// A receiver that hangs holds up its own deliveries only.
func TestASlowReceiverHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		r.set("https://slow", hangs)
		defer deliver(f, r)()
		f.with(func(c *statetest.Cluster) { c.Do(hook("slow", "https://slow")); c.Do(hook("well", "https://well")) })
		f.crowd(200)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(r.taken("https://well")); n != 200 {
			t.Errorf("the other receiver has taken %d", n)
		}
		if n := len(r.tries("https://slow")); n != maxPerHost {
			t.Errorf("%d tries hang", n)
		}
	})
}

// A receiver that was away gets what it missed; tries come later and later.
func TestAReceiverThatReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		r.set("https://a", answers(500))
		defer deliver(f, r)()
		f.with(func(c *statetest.Cluster) { c.Do(hook("a", "https://a")); c.Submit(1) })
		time.Sleep(10 * time.Minute)
		tries := r.tries("https://a")
		if len(tries) < 5 || len(tries) > 9 {
			t.Errorf("tried at %v", tries)
		}
		for i := 2; i < len(tries); i++ {
			if tries[i]-tries[i-1] <= tries[i-1]-tries[i-2] {
				t.Errorf("tried at %v: not later and later", tries)
			}
		}
		r.set("https://a", nil)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if len(r.taken("https://a")) != 1 {
			t.Error("what it missed has not come")
		}
	})
}

// After three days it is given up, and shown so.
func TestDeadDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		r.set("https://a", answers(404))
		defer deliver(f, r)()
		f.with(func(c *statetest.Cluster) { c.Do(hook("a", "https://a")); c.Submit(1) })
		time.Sleep(outbox.Span + time.Hour)
		synctest.Wait()
		s := f.State()
		for k := range s.Delivered.All() {
			d, _ := s.Deliveries.Get(k)
			tries := r.tries("https://a")
			if d.State != outbox.Dead || d.Status != 404 || int(d.Tries) != len(tries) || tries[len(tries)-1] < outbox.Span {
				t.Errorf("it is %+v, tried %d times", d, len(tries))
			}
		}
		if s.Delivered.Len() != 1 || s.Outgoing.Len() != 0 {
			t.Error("it is not given up")
		}
	})
}

// A leader that ends between a delivery and its note leaves it to the next, which sends it again under the
// same id: at least once, and recognizable.
func TestAnotherLeaderGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		f.fail = errors.New("this peer leads no more")
		stop := deliver(f, r)
		f.with(func(c *statetest.Cluster) { c.Do(hook("a", "https://a")); c.Submit(1) })
		time.Sleep(3 * time.Second)
		if n := len(r.taken("https://a")); n != 1 {
			t.Errorf("delivered %d times while its note was not taken", n)
		}
		stop()
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
		defer deliver(f, r)()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if ids := r.taken("https://a"); len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("taken were %v", ids)
		}
		if s := f.State(); s.Outgoing.Len() != 0 {
			t.Error("it still waits")
		}
	})
}

// What is cut off by the end of a leadership is no failure of the receiver.
func TestTheEndOfALeadershipIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		r.set("https://a", hangs)
		stop := deliver(f, r)
		f.with(func(c *statetest.Cluster) { c.Do(hook("a", "https://a")); c.Submit(1) })
		time.Sleep(time.Second)
		stop()
		s := f.State()
		for k := range s.Outgoing.All() {
			if d, _ := s.Deliveries.Get(k.Delivery); d.Tries != 0 {
				t.Errorf("it counts %d tries", d.Tries)
			}
		}
	})
}

// due is a pure function of state and time.
func TestDue(t *testing.T) {
	c := statetest.New(t)
	c.Do(hook("a", "https://a"))
	for range 3 {
		c.Submit(1)
	}
	all := func(outbox.Key) bool { return true }
	list, next := due(&c.State, c.Now, 2, all)
	if len(list) != 2 || next != never {
		t.Fatalf("due is %v, next %s", list, next)
	}
	later := c.Now.Add(time.Minute)
	var b command.MarkDeliveries
	for _, d := range list {
		b.Marks = append(b.Marks, command.Mark{Key: d.Key, Tries: 1, Next: later})
	}
	c.Do(&b)
	if list, next = due(&c.State, c.Now, 9, all); len(list) != 1 || next != time.Minute {
		t.Errorf("due is %v, next %s", list, next)
	}
	if list, _ = due(&c.State, later, 9, func(k outbox.Key) bool { return k.Index != b.Marks[0].Key.Index }); len(list) != 2 {
		t.Errorf("due is %v", list)
	}
}
