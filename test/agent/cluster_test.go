package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
)

var errAway = errors.New("the cluster is away")

// cluster is a state that an agent talks to as if peers held it. It places what is
// queued as soon as there is room.
type cluster struct {
	mu      sync.Mutex
	c       *statetest.Cluster
	changed chan struct{} // closed and replaced with each entry
	away    bool
	tails   map[model.RankKey]*agentwire.Tail
	board   *soft.Board                           // what GPUs measure
	silence func(model.PeerID) *agentwire.Silence // nil: no peer answers
}

// voters returns the peers, whose addresses are their names.
func voters() []model.PeerID { return []model.PeerID{"p1", "p2", "p3"} }

func newCluster(t testing.TB) *cluster {
	c := &cluster{
		c: statetest.New(t), changed: make(chan struct{}), tails: map[model.RankKey]*agentwire.Tail{},
		board: soft.NewBoard(led{}.Boot),
	}
	c.c.Now = model.TimeOf(time.Now())
	return c
}

// do carries out a command for a client, and places waiting tasks after it.
func (c *cluster) do(b command.Body) (command.Result, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Now = max(c.c.Now, model.TimeOf(time.Now()))
	r := c.c.Try(b)
	index := c.c.State.Index
	c.place()
	close(c.changed)
	c.changed = make(chan struct{})
	return r, index
}

func (c *cluster) place() {
	var queued []model.TaskKey
	for k, t := range c.c.State.Tasks.All() {
		if t.State == model.TaskQueued && t.NotBefore <= c.c.Now {
			queued = append(queued, k)
		}
	}
	for _, k := range queued {
		if b := c.c.Placement(k); b != nil {
			c.c.Try(b)
		}
	}
}

func (c *cluster) cut(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cluster) reached(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return errAway
	}
	return ctx.Err()
}

func (c *cluster) Register(ctx context.Context, q *agentwire.Register) (*agentwire.Registered, error) {
	if err := c.reached(ctx); err != nil {
		return nil, err
	}
	r, index := c.do(&command.Register{
		Node: q.Node, Machine: q.Machine, Boot: q.Boot, Lineage: q.Lineage, Session: q.Session, Hostname: q.Hostname,
		Address: q.Address, Version: q.Version, CPUs: q.CPUs, MemoryMB: q.MemoryMB, Devices: q.Devices, Folders: q.Folders,
		Reports: q.Reports, Cleaned: q.Cleaned, Follows: q.Follows, Trouble: q.Trouble,
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return &agentwire.Registered{
		Code: r.Code, Detail: r.Detail, Incarnation: c.c.State.Settings().Incarnation, Epoch: r.Number, Index: index, Verdicts: r.Verdicts,
	}, nil
}

func (c *cluster) Renew(ctx context.Context, q *agentwire.Renew) (*agentwire.Renewed, error) {
	if err := c.reached(ctx); err != nil {
		return nil, err
	}
	c.board.Put(q.Node, q.Samples)
	r, index := c.do(&command.Renew{Renewals: []command.Renewal{{Node: q.Node, Incarnation: q.Incarnation, Epoch: q.Epoch, Seq: q.Seq}}})
	if len(r.Verdicts) == 0 {
		return nil, fmt.Errorf("the renewal was refused: %s", r.Detail)
	}
	return &agentwire.Renewed{Code: r.Verdicts[0], Index: index, Voters: voters()}, nil
}

func (c *cluster) SetPeers([]string) {}

// Silence returns each peer's answer as set by the test.
func (c *cluster) Silence(_ context.Context, address string) (*agentwire.Silence, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence == nil {
		return nil, errAway
	}
	return c.silence(model.PeerID(address)), nil
}

func (c *cluster) Desired(ctx context.Context, q *agentwire.Poll) (*model.Desired, error) {
	limit := time.After(q.Wait)
	for {
		if err := c.reached(ctx); err != nil {
			return nil, err
		}
		c.mu.Lock()
		d, changed, last := c.c.State.Desired(q.Node), c.changed, c.c.State.DesiredIndex(q.Node)
		c.mu.Unlock()
		if last > q.After {
			return &d, nil
		}
		select {
		case <-changed:
		case <-limit:
			return &d, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *cluster) Report(ctx context.Context, q *agentwire.Report) (*agentwire.Reported, error) {
	if err := c.reached(ctx); err != nil {
		return nil, err
	}
	r, index := c.do(&command.Report{Node: q.Node, Incarnation: q.Incarnation, Epoch: q.Epoch, Reports: q.Reports, Cleaned: q.Cleaned})
	return &agentwire.Reported{Code: r.Code, Detail: r.Detail, Verdicts: r.Verdicts, Index: index}, nil
}

func (c *cluster) Inventory(ctx context.Context, q *agentwire.Inventory) (*agentwire.Reported, error) {
	if err := c.reached(ctx); err != nil {
		return nil, err
	}
	r, index := c.do(&command.Inventory{Node: q.Node, Incarnation: q.Incarnation, Epoch: q.Epoch, Devices: q.Devices, Trouble: q.Trouble})
	return &agentwire.Reported{Code: r.Code, Detail: r.Detail, Index: index}, nil
}

func (c *cluster) Blob(ctx context.Context, h model.Hash) (string, error) {
	if err := c.reached(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, found := c.c.State.Blobs.Get(h)
	if !found {
		return "", errors.New("there is no such content")
	}
	return b.Data, nil
}

func (c *cluster) Tail(ctx context.Context, q *agentwire.Tail) error {
	if err := c.reached(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tails[q.Rank] = q
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// submit queues a job.
func (c *cluster) submit(t testing.TB, change func(*command.Submit)) model.JobID {
	t.Helper()
	r, _ := c.do(statetest.Job(1, func(b *command.Submit) { b.Spec.Grace = 2 * time.Second; change(b) }))
	if !r.OK() {
		t.Fatalf("the job was refused: %s %s", r.Code, r.Detail)
	}
	return r.Job
}

// until waits for a condition of the state.
func (c *cluster) until(t testing.TB, what string, holds func(*statetest.Cluster) bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		ok, changed := holds(c.c), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// ended waits for the end of a job's only task.
func (c *cluster) ended(t testing.TB, job model.JobID) model.Task {
	t.Helper()
	var task model.Task
	c.until(t, "the end of job "+job.String(), func(s *statetest.Cluster) bool {
		task, _ = s.State.Tasks.Get(model.TaskKey{Job: job})
		return task.State.Terminal()
	})
	return task
}

// running waits until a job's newest attempt runs.
func (c *cluster) running(t testing.TB, job model.JobID) model.AttemptKey {
	t.Helper()
	var key model.AttemptKey
	c.until(t, "job "+job.String()+" running", func(s *statetest.Cluster) bool {
		task, _ := s.State.Tasks.Get(model.TaskKey{Job: job})
		key = task.Newest()
		return task.State == model.TaskRunning
	})
	return key
}

// free waits until so many slots are free.
func (c *cluster) free(t testing.TB, n int) {
	t.Helper()
	c.until(t, "free slots", func(s *statetest.Cluster) bool {
		free := 0
		for _, slot := range s.State.Slots.All() {
			if slot.Owner == model.OwnerNone {
				free++
			}
		}
		return free == n
	})
}
