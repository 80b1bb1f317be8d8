package e2e

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

var (
	chaosRounds = flag.Int("chaos.rounds", 8, "how many processes are killed at random")
	chaosSeed   = flag.Uint64("chaos.seed", 1, "which ones")
)

// Any process of the cluster is killed, again and again, while jobs come and run.
// Every acknowledged job runs to its end, once. One that stays runs in the end, and can be canceled.
func TestAnyProcessDies(t *testing.T) {
	c := start(t)
	var stays []string
	for range 2 {
		stays = append(stays, c.submit(&wire.Submit{Command: "sleep 3600", GPUs: new(int64(1))}))
	}
	marks, acks := marksFile(t), &acknowledged{jobs: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	work := c.submitters(ctx, 3, marks, acks)
	random := rand.New(rand.NewPCG(*chaosSeed, 0))
	for range *chaosRounds {
		enough := acks.count() + 10
		c.until("jobs are acknowledged", func() bool { return acks.count() >= enough })
		all := c.members()
		victim := all[random.IntN(len(all))].Name
		t.Logf("kill -9 of %s after %d jobs", victim, acks.count())
		c.kill(victim)
	}
	c.ready()
	stop()
	work.Wait()
	c.checkAll(acks, marks)
	c.checkMoves(stays)
}

// checkMoves checks that nothing keeps jobs from running once all is well, nor from being canceled: none stays as it is without an end.
func (c *cluster) checkMoves(jobs []string) {
	c.t.Helper()
	for _, id := range jobs {
		c.running(id)
	}
	for _, id := range jobs {
		if _, err := c.api.Cancel(c.t.Context(), id, "", "enough"); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, id := range jobs {
		if d := c.ended(id); d.State != "canceled" {
			c.t.Errorf("job %s was canceled and is %s: %s; %+v", id, d.State, d.Reason, d.Timeline)
		}
	}
}
