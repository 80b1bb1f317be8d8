package call

import "time"

// Lane is a kind of calls. Each lane has connections of its own, so that a large copy delays no request, and a
// crowd of requests delays none of the small calls that a cluster lives by. The values are part of the
// protocol.
type Lane byte

// The lanes.
const (
	Control Lane = 'c' // small calls on behalf of Raft: reports, joins, indexes for reads
	Forward Lane = 'f' // requests to the API that the leader carries out
	Bulk    Lane = 'b' // copies: output of ranks, telemetry, parts of archives
)

// bounds are the limits of a lane's calls.
type bounds struct {
	frame   int           // bytes of a question or an answer, with its header
	calls   int           // at once to one peer, and of one peer
	longest time.Duration // that a call may take
	usual   time.Duration // that a call may take whose context sets no deadline
}

// MaxForward is the most that one request to the API, or its answer, may need in bytes.
const MaxForward = 6 << 20

// bounds returns the limits of a lane, and whether it is one.
func (l Lane) bounds() (bounds, bool) {
	switch l {
	case Control:
		return bounds{frame: 1 << 20, calls: 64, longest: time.Minute, usual: 10 * time.Second}, true
	case Forward:
		return bounds{frame: MaxForward, calls: 1024, longest: 30 * time.Second, usual: 10 * time.Second}, true
	case Bulk:
		return bounds{frame: 16 << 20, calls: 16, longest: time.Minute, usual: 30 * time.Second}, true
	}
	return bounds{}, false
}

// String returns the lane's name.
func (l Lane) String() string {
	switch l {
	case Control:
		return "control"
	case Forward:
		return "forward"
	case Bulk:
		return "bulk"
	}
	return "unknown"
}
