package notify

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// mortal is a receiver with a port of its own, which can die and return there.
type mortal struct {
	t      *testing.T
	at     string
	server *http.Server

	mu   sync.Mutex
	came []string        // webhook-ids, in the order in which they came
	body map[string]bool // ids of webhooks and of the event in the body
	dies bool            // the moment it has read
}

func (m *mortal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var event wire.Notice
	if err != nil || json.Unmarshal(data, &event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.came = append(m.came, r.Header.Get("webhook-id"))
	m.body[r.Header.Get("webhook-id")+" "+event.ID] = true
	if m.dies {
		panic(http.ErrAbortHandler)
	}
}

// dying has it die of what it reads, or not.
func (m *mortal) dying(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dies = yes
}

func (m *mortal) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.came)
}

// live has it listen, where it did before.
func (m *mortal) live() {
	m.t.Helper()
	address := m.at
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.at, m.server = l.Addr().String(), &http.Server{Handler: m} //nolint:gosec // a test's
	go func() { _ = m.server.Serve(l) }()
}

func (m *mortal) die() {
	if err := m.server.Close(); err != nil {
		m.t.Error(err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// dispatch is deliveries over real connections, under a clock that can be put forward.
type dispatch struct {
	*fake

	ahead atomic.Int64
	dials atomic.Int32
}

// later puts the clock forward by more than any wait between two early tries.
func (d *dispatch) later() {
	d.ahead.Add(int64(time.Hour))
	d.with(func(*statetest.Cluster) {})
}

// run delivers until the test's end.
func (d *dispatch) run(t *testing.T) {
	t.Helper()
	world := &World{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		d.dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		Run(ctx, Config{
			Peer: d, Actor: "peer:p1", Wall: func() time.Time { return d.wall().Add(time.Duration(d.ahead.Load())) }, Send: world.Send,
			Random: func() uint32 { return 500 }, Log: slog.New(slog.DiscardHandler), Counts: &d.counts,
		})
	})
	t.Cleanup(func() { cancel(); work.Wait() })
}

// delivery returns the one of the newest notice.
func (d *dispatch) delivery() (newest outbox.Delivery) {
	s := d.State()
	for _, row := range s.Deliveries.All() {
		newest = row
	}
	return newest
}

// Tries at a receiver that dies are repeated, under one id and with one try counted each time, and it has
// everything once it is back: also what it had read the moment it died, once more.
func TestAReceiverDiesAndReturns(t *testing.T) {
	d, m := &dispatch{fake: newFake(t)}, &mortal{t: t, body: map[string]bool{}}
	m.live()
	d.with(func(c *statetest.Cluster) { c.Do(&command.SetNotify{Notify: model.Notify{Allow: "127.0.0.0/8"}}) })
	d.with(func(c *statetest.Cluster) { c.Do(hook("a", "http://"+m.at)) })
	d.run(t)
	d.with(func(c *statetest.Cluster) { c.Submit(1) })
	until(t, "the first delivery", func() bool { return d.delivery().State == outbox.Delivered })

	m.die()
	d.with(func(c *statetest.Cluster) { c.Submit(1) })
	for try := uint32(1); try <= 3; try++ {
		until(t, "another try", func() bool { return d.delivery().Tries == try })
		if row := d.delivery(); row.Status != 0 || row.Error != "unreachable" || row.State != outbox.Pending {
			t.Errorf("try %d: %+v", try, row)
		}
		d.later()
	}
	until(t, "the fourth try", func() bool { return d.delivery().Tries == 4 })

	m.dying(true)
	m.live()
	d.later()
	until(t, "a try that it dies of", func() bool { return d.delivery().Tries == 5 })
	if row := d.delivery(); row.State != outbox.Pending || row.Status != 0 {
		t.Errorf("the unconfirmed delivery is %+v", row)
	}
	m.die()
	m.dying(false)
	m.live()
	defer m.die()
	d.with(func(c *statetest.Cluster) { c.Submit(1) })
	d.later()
	until(t, "all is delivered", func() bool { s := d.State(); return s.Outgoing.Len() == 0 })

	came := m.got()
	second := 0
	for _, id := range came {
		if id == came[1] {
			second++
		}
	}
	if len(came) != 4 || len(m.body) != 3 || second != 2 || came[0] == came[1] {
		t.Errorf("%v came, with %v", came, m.body)
	}
	if got := d.dials.Load(); got != 1+6+1 || d.counts.Delivered.Load() != 3 || d.counts.Failed.Load() != 5 {
		t.Errorf("it was dialed %d times, with %d deliveries and %d failures", got, d.counts.Delivered.Load(), d.counts.Failed.Load())
	}
}
