//berth:bubble

package simgossip_test

import (
	"flag"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// A small cluster usually notices within two seconds, and a bad network makes no hint of silence.
func TestHintsComeSoonAndAreRight(t *testing.T) {
	long := 10 * 60 * 10 // ten minutes
	if testing.Short() {
		long /= 5
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 6)
		defer w.end()
		w.converge(time.Minute)
		w.net.SetDefault(simnet.Link{Latency: 5 * time.Millisecond, Jitter: 50 * time.Millisecond, Loss: 0.05})
		for range long {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			for _, g := range w.members {
				if n := count(g, gossip.StateSilent); n > 0 {
					t.Fatalf("%d members count as silent, and all answer: %+v", n, g.Members())
				}
			}
		}
		w.net.SetDefault(lan)
		var took []time.Duration
		for round := range 15 { // others each time, at other points of the rounds
			i := round % 5
			time.Sleep(time.Minute) // a member that was cut off itself trusts its own probes less for a while
			w.net.Isolate(host(i))
			rest := slices.Delete(slices.Clone(w.members), i, i+1)
			cut := time.Now()
			w.within(6*time.Second, "one is silent", rest, func(g *gossip.Gossip) bool { return count(g, gossip.StateSilent) == 1 })
			took = append(took, time.Since(cut))
			w.net.HealAll()
			w.converge(time.Minute)
		}
		// Members probe each other in a random order: by chance alone about one silence in twenty lasts longer.
		slices.Sort(took)
		if median := took[len(took)/2]; median > 2500*time.Millisecond {
			t.Errorf("a silent member was noticed after %v (median of %v), want at most 2.5s", median, took)
		}
	})
}

// many is the number of members of a large cluster: 1,000 take ten minutes.
var many = flag.Int("gossip.members", 300, "members of TestManyMembers")

// Many members find each other from two seeds, hint at those that are cut off and at no other, and know them again.
func TestManyMembers(t *testing.T) {
	n, cut := *many, 10
	if testing.Short() {
		n, cut = 40, 2
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n)
		defer w.end()
		w.converge(5 * time.Minute)
		w.split(0, n-cut, n-cut, n)
		w.within(30*time.Second, "those that are cut off are silent, and no other", w.members[:n-cut], func(g *gossip.Gossip) bool {
			return count(g, gossip.StateSilent) == cut && count(g, gossip.StateAlive) == n-cut
		})
		w.net.HealAll()
		w.converge(10 * time.Minute)
	})
}
