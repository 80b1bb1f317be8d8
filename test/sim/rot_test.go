package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/berth-gpu/berth/test/sim/simdisk"
)

// flipCommand changes a letter of the command of the submission that was committed last up to an
// index, on one disk.
func flipCommand(d *simdisk.Disk, last uint64, text string) (done bool) {
	for index := last; index > 0 && !done; index-- {
		done = d.Rot(index, func(data []byte) bool {
			at := bytes.Index(data, []byte(text))
			if at >= 0 {
				data[at+len(text)-1] ^= 1
			}
			return at >= 0
		})
	}
	return done
}

// flippedBit flips a bit of a job's command in the log of a peer that is about to lead: a follower is down
// when the job is acknowledged; the other one loses its power, and its disk returns the entry with another
// letter; then the leader loses its power, and the follower that lacks the entry comes back.
func flippedBit(w *World) {
	const marker = `"KillLag":12345`
	w.Until(10*time.Second, func() bool { return w.leader() != nil })
	leader := w.leader()
	if leader == nil {
		w.trace.Break("scenario", "no peer leads")
		return
	}
	var rest []*peer
	for _, p := range w.peers() {
		if p != leader {
			rest = append(rest, p)
		}
	}
	rotten, late := rest[0], rest[1]
	late.stop(false)
	job := plainJob
	job.Spec.Command, job.Spec.Held = behavior{Run: time.Second, KillLag: 12345}.command(), true
	propose(w, &job)
	caughtUp(w, rotten)
	rotten.stop(true)
	s := w.oracle.now()
	rotten.mu.Lock()
	done := flipCommand(rotten.disk, s.Index, marker)
	rotten.mu.Unlock()
	if !done {
		w.trace.Break("scenario", "the disk of %s has no such entry", rotten.name)
		return
	}
	leader.stop(true)
	rotten.start()
	late.start()
	wait(w, 20*time.Second)
	leader.start()
	wait(w, 20*time.Second)
	rotten.change(func(f *fate) { f.gone = true })
	rotten.stop(false)
	w.retire(rotten)
	w.newcomer()
	wait(w, 20*time.Second)
}

// A flipped bit in the log of one disk is never believed: neither applied nor handed to other peers. Without
// the checksums of entries it is.
func TestAFlippedBitIsNotBelieved(t *testing.T) {
	scripted(t)
	for _, broken := range []bool{false, true} {
		s := quiet(Setup{Seed: 1, Peers: 3, Nodes: 2, GPUs: 2})
		s.Unguarded.NoChecksums = broken
		r := run(t, s, flippedBit)
		if !broken {
			describeFailure(t, s.Seed, r)
		} else if r.Broken == nil || r.Broken.Name != BreachDivergence {
			t.Errorf("without checksums the flipped bit does the harm %v, not %q", r.Broken, BreachDivergence)
		}
	}
}
