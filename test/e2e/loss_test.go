package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// acknowledged collects submissions: by key, the job that the cluster has named.
type acknowledged struct {
	mu   sync.Mutex
	jobs map[string]string
}

func (a *acknowledged) add(key, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[key] = id
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.jobs)
}

// submitters submit one marked job after the other, each under a key of its own,
// until the context ends. Each submission is tried until it is acknowledged.
func (c *cluster) submitters(ctx context.Context, n int, marks string, acks *acknowledged) *sync.WaitGroup {
	work := &sync.WaitGroup{}
	for i := range n {
		api, err := client.New(client.Options{Addresses: c.addresses()})
		if err != nil {
			c.t.Fatal(err)
		}
		work.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				key := fmt.Sprintf("submitter-%d-%d", i, k)
				for {
					answer, err := api.Submit(c.context(), marked(marks, "0.05", 0), key)
					if err == nil {
						acks.add(key, answer.JobID)
						break
					}
					if c.context().Err() != nil {
						return
					}
				}
				select {
				case <-time.After(50 * time.Millisecond): // real processes run these jobs
				case <-ctx.Done():
				}
			}
		})
	}
	return work
}

// neverStarted counts the attempts of a job that an agent gave back: it was killed while it prepared them, so
// that nothing of them has run.
func neverStarted(d *wire.Detail) (n int64) {
	for i := range d.Timeline {
		if d.Timeline[i].Event == model.EventRefused.String() {
			n++
		}
	}
	return n
}

// checkAll insists that every acknowledged job is there, is one, and ran once.
func (c *cluster) checkAll(acks *acknowledged, marks string) {
	c.t.Helper()
	seen, ran := map[string]string{}, map[string]int64{}
	for key, id := range acks.jobs { // order-free: each is checked
		if other, twice := seen[id]; twice {
			c.t.Errorf("%s and %s were both answered with job %s", key, other, id)
		}
		seen[id] = key
		d := c.ended(id)
		if ran[id] = d.Attempts; d.State != "completed" || d.Attempts != 1+neverStarted(d) {
			c.t.Errorf("job %s is %s after %d attempts: %s; %+v", id, d.State, d.Attempts, d.Reason, d.Timeline)
		}
	}
	all := readMarks(c.t, marks)
	for id := range seen { // order-free: each is checked
		if got := all[id]; len(got) != 1 || got[int(ran[id])] != (life{1, 1}) {
			c.t.Errorf("job %s has the marks %v, want one start and one end in attempt %d", id, got, ran[id])
		}
	}
	if len(all) != len(seen) {
		c.t.Errorf("%d jobs ran, and %d were acknowledged", len(all), len(seen))
	}
}

// Submissions go on while one leader after the other is killed; none is lost, none
// becomes two jobs, and none runs twice.
func TestSubmissionsSurviveTheDeathOfLeaders(t *testing.T) {
	c := start(t)
	marks, acks := marksFile(t), &acknowledged{jobs: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	work := c.submitters(ctx, 4, marks, acks)
	for range 3 {
		enough := acks.count() + 20
		c.until("jobs are acknowledged", func() bool { return acks.count() >= enough })
		c.kill(c.leader())
		c.ready()
	}
	stop()
	work.Wait()
	c.checkAll(acks, marks)
}

// A follower that is killed catches up, without an effect on clients.
func TestAFollowerDiesAndComesBack(t *testing.T) {
	c := start(t)
	marks, acks := marksFile(t), &acknowledged{jobs: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	work := c.submitters(ctx, 2, marks, acks)
	leader := c.leader()
	follower := "p1"
	if leader == follower {
		follower = "p2"
	}
	c.shoot(follower)
	enough := acks.count() + 20
	c.until("jobs are acknowledged meanwhile", func() bool { return acks.count() >= enough })
	c.ready()
	stop()
	work.Wait()
	if now := c.leader(); now != leader { // a machine that is too busy may elect, which does no harm
		t.Logf("%s leads after the death of a follower, before it was %s", now, leader)
	}
	c.checkAll(acks, marks)
	index := func(name string) uint64 {
		peers, err := c.api.Peers(t.Context())
		if err != nil {
			return 0
		}
		for _, p := range peers.Peers {
			if p.Name == name {
				return p.AppliedIndex
			}
		}
		return 0
	}
	want := index(leader)
	c.until("the follower has caught up", func() bool { return index(follower) >= want })
}

// All peers are killed while the first jobs run, soon after the last acknowledgement.
// What was acknowledged is there when they are back.
func TestAllPeersDie(t *testing.T) {
	c := start(t)
	marks := marksFile(t)
	acks := &acknowledged{jobs: map[string]string{}}
	for i := range 10 {
		acks.add(fmt.Sprint(i), c.submit(marked(marks, "2", 0)))
	}
	c.until("a job runs", func() bool { _, err := os.Stat(marks); return err == nil })
	before := map[string]int{}
	for _, name := range []string{"p1", "p2", "p3"} {
		before[name] = c.shoot(name)
	}
	for _, name := range []string{"p1", "p2", "p3"} {
		c.until(name+" is back", func() bool { pid := c.member(name).PID; return pid != 0 && pid != before[name] })
	}
	c.ready()
	c.checkAll(acks, marks)
}

// A cluster that was ended and is started again on its folder has its jobs.
func TestASecondStartFindsItsJobs(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "2")
	marks := marksFile(t)
	done := c.submit(marked(marks, "0.1", 0))
	c.ended(done)
	waits := c.submit(marked(marks, "0.1", 0))
	c.ended(waits)
	running := c.submit(marked(marks, "600", 0))
	c.running(running)
	c.down()
	c.up()
	for _, id := range []string{done, waits} { // a peer that has just started may not know all yet
		if d := c.ended(id); d.State != "completed" {
			t.Errorf("job %s is %s after the second start", id, d.State)
		}
	}
	c.until("the job that ran was cut off and is known to be", func() bool {
		d := c.job(running)
		return len(d.History) > 0 && !d.History[0].EndedAt.IsZero()
	})
	if _, err := c.api.Cancel(t.Context(), running, client.AllTasks, ""); err != nil {
		t.Error(err)
	}
	c.ended(running)
}
