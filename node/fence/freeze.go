package fence

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxJump is by how much the wall clock may gain on CLOCK_BOOTTIME between two
// checks: more than any slewing does, less than any lease could hide.
const maxJump = 2 * time.Second

// Reading is the two clocks of a host, read together.
type Reading struct {
	Boot Boot
	Real model.Time // CLOCK_REALTIME
}

// MustFreeze says that the host seems to have stood still, or that its
// CLOCK_BOOTTIME did, between two checks of a ticker, so that no deadline can be
// trusted until a peer has spoken: freeze every rank, renew, ask for the desired
// set, and then thaw or kill. T is the shortest T of the attempts on the node;
// 0 when none is there.
//
// It is so when the wall clock gained more than two seconds on CLOCK_BOOTTIME,
// as it does when a virtual machine was paused or rolled back; when the checks
// are more than half of T apart, since the next gap could be as long as what is
// left; and when CLOCK_BOOTTIME went back. A wall clock that was set forward by
// hand looks the same. It costs the jobs one round trip.
func MustFreeze(before, after Reading, t time.Duration) bool {
	passed := after.Boot.Sub(before.Boot)
	return passed < 0 || after.Real.Sub(before.Real)-passed > maxJump || t > 0 && passed > t/2
}

// MayThaw says that a rank frozen at since may go on. It must be wanted: named by
// a desired set that was asked for after since; and the lease's start must lie
// after since. The lease alone proves too little here. While CLOCK_BOOTTIME
// stood still the leader may have given up this rank and nothing else of the
// node, and it goes on accepting the node's renewals.
//
// An attempt that is held when its node is lost goes on without an answer after
// its K: nothing but an operator's word can have replaced it, and an absent
// control plane must not stop it for good.
//
// A frozen rank stays under its [Guard], which may have it killed meanwhile. One
// that is frozen when the host stands still again is frozen anew, with a later
// since: a renewal sent between the two standstills proves nothing of the second.
func MayThaw(now, since, start Boot, wanted bool, f model.Frozen) bool {
	if f.OnLost == model.OnLostHold && now >= since.Add(f.Kill) {
		return true
	}
	return wanted && start > since
}
