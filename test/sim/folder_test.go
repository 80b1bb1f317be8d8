package sim

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clusterpeer "github.com/berth-gpu/berth/cluster/peer"
)

// again starts a peer as its unit file does, with the founders' list. One that the
// others do not take for the peer that it was ends for good, and another takes its place.
func (w *World) again(p *peer, founders []clusterpeer.Server) {
	p.start()
	run := p.running()
	if run == nil {
		return
	}
	w.work.Go(func() {
		err := run.Bootstrap(w.ctx, founders)
		if !errors.Is(err, clusterpeer.ErrWiped) {
			return
		}
		w.trace.Note("%s is refused: %v", p.name, err)
		p.change(func(f *fate) { f.gone = true })
		p.stop(false)
		w.retire(p)
		w.newcomer()
	})
}

// loseFolder: one of three peers is down, and users are answered by the others; both
// lose their power, and one of them its data folder. All are started again, in an order
// and at a pace of their own.
func loseFolder(order []int, pause time.Duration) func(*World) {
	return func(w *World) {
		founders, all := w.founders(), w.peers()
		u := newUser(w, "ann", 7)
		defer u.close()
		submit := func(n int) {
			for range n {
				job := plainJob
				u.submit(w.ctx, &job)
			}
		}
		submit(2)
		all[2].stop(false)
		submit(5)
		all[0].stop(true)
		all[1].stop(true)
		all[1].mu.Lock()
		all[1].disk.Wipe()
		all[1].mu.Unlock()
		for _, i := range order {
			w.again(all[i], founders)
			wait(w, pause)
		}
		wait(w, 20*time.Second)
	}
}

// Acknowledged requests survive the loss of one folder of three, whatever was down then and in whatever order
// the peers come back; without the rule that a peer is identified by its folder, they do not.
func TestALostFolderLosesNothing(t *testing.T) {
	scripted(t)
	orders := [][]int{{1, 2, 0}, {2, 1, 0}, {0, 1, 2}, {2, 0, 1}}
	for _, broken := range []bool{false, true} {
		harm := 0
		for n, order := range orders {
			pauses := []time.Duration{0, 300 * time.Millisecond, 5 * time.Second}
			if testing.Short() {
				pauses = pauses[n%len(pauses):][:1]
			}
			for _, pause := range pauses {
				s := quiet(Setup{Seed: uint64(n + 1), Peers: 3, Nodes: 2, GPUs: 2})
				s.Unguarded.AnyFolder, s.Quarantine = broken, broken
				r := run(t, s, loseFolder(order, pause))
				if r.Broken != nil {
					harm++
				}
				if !broken {
					t.Run(fmt.Sprint(order, pause), func(t *testing.T) { describeFailure(t, s.Seed, r) })
				}
			}
		}
		if broken && harm == 0 {
			t.Error("without the rule nothing is lost: the courses prove nothing")
		}
	}
}
