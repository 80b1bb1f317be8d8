package doctor

import (
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// Bounds of clocks. A join is refused beyond the second.
const (
	clockWarns  = time.Second
	clockFaulty = 30 * time.Second
)

// PeerClock is the clock of a peer, as an answer over the network shows it.
type PeerClock struct {
	Peer  string
	Ahead time.Duration // of this machine's; in the middle between question and answer
	Error time.Duration // at most so much of the difference is the network's: half the time of question and answer
}

// Clocks judges the clock of this machine by those of peers.
func Clocks(peers []PeerClock) (out []Finding) {
	for _, p := range peers {
		a := about{CheckClock, "peer " + p.Peer}
		off := max(p.Ahead.Abs()-p.Error, 0)
		direction := "ahead of"
		if p.Ahead < 0 {
			direction = "behind"
		}
		const remedy = "let a time service run on both machines: timedatectl set-ntp true, and chronyc tracking or timedatectl timesync-status shows its state"
		text := "the peer's clock is " + table.About(p.Ahead.Abs()) + " " + direction + " this machine's"
		switch {
		case off > clockFaulty:
			out = append(out, a.fault(remedy, "%s, more than %s: certificates and leases rely on clocks that agree", text, clockFaulty))
		case off > clockWarns:
			out = append(out, a.warning(remedy, "%s, more than %s", text, clockWarns))
		default:
			out = append(out, a.ok("the peer's clock differs by %s at most", table.About(p.Ahead.Abs()+p.Error)))
		}
	}
	return out
}

// Synchronised judges whether the kernel's clock is kept right, by adjtimex(2). An unknown state is err.
func Synchronised(synchronised bool, err error) Finding {
	a := about{CheckClock, "this machine"}
	switch {
	case err != nil:
		return a.skipped("the kernel does not show whether the clock is synchronised: %v", err)
	case !synchronised:
		return a.warning("timedatectl set-ntp true, or install and start chrony", "the clock is not synchronised with any other (adjtimex: STA_UNSYNC)")
	}
	return a.ok("the clock is synchronised")
}
