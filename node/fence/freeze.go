package fence

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxJump is by how much the wall clock may gain on CLOCK_BOOTTIME between two checks: more than any slewing,
// less than would hide a lease.
const maxJump = 2 * time.Second

// Reading is a reading of the two clocks of a host, taken together.
type Reading struct {
	Boot Boot
	Real model.Time // CLOCK_REALTIME
}

// MustFreeze reports whether the host seems to have been suspended, or its CLOCK_BOOTTIME to have stopped,
// between two checks of a ticker. No deadline can then be trusted until a peer has answered: freeze every
// rank, renew, request the desired set, and then thaw or kill. T is the shortest T of the attempts on the
// node; 0 without attempts.
//
// That is so when the wall clock gained more than two seconds on CLOCK_BOOTTIME, as when a virtual machine
// was paused or rolled back; when the checks are more than half of T apart, since the next gap could be as
// long as what is left; and when CLOCK_BOOTTIME went back. A wall clock that was set forward by hand looks
// the same. A freeze costs the jobs one round trip.
func MustFreeze(before, after Reading, t time.Duration) bool {
	passed := after.Boot.Sub(before.Boot)
	return passed < 0 || after.Real.Sub(before.Real)-passed > maxJump || t > 0 && passed > t/2
}

// MayThaw reports whether a rank frozen at since may go on. The rank must be named by a desired set that was
// requested after since, and the lease's start must lie after since. The lease alone proves too little here.
// While CLOCK_BOOTTIME stood still the leader may have given up this rank and nothing else of the node, and
// it goes on accepting the node's renewals.
//
// An attempt that is held when its node is lost thaws without an answer after its K: only an operator can
// have replaced it, and an absent control plane must not stop it for good.
//
// A frozen rank stays under its [Guard], which may have the rank killed meanwhile. One that is frozen when
// the host is suspended again is frozen again, with a later since: a renewal sent between the two gaps proves
// nothing about the second.
func MayThaw(now, since, start Boot, wanted bool, f model.Frozen) bool {
	if f.OnLost == model.OnLostHold && now >= since.Add(f.Kill) {
		return true
	}
	return wanted && start > since
}
