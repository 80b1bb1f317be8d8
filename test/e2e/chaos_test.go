package e2e

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	chaosRounds = flag.Int("chaos.rounds", 8, "how many processes are killed at random")
	chaosSeed   = flag.Uint64("chaos.seed", 1, "which ones")
)

// Any process of the cluster is killed, again and again, while jobs come and run.
// Every acknowledged job runs to its end, once.
func TestAnyProcessDies(t *testing.T) {
	c := start(t)
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
}
