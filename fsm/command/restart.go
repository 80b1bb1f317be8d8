package command

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// LockRestart lets one peer restart, and no other until the lock is freed or the time is over. The holder of the lock may take
// it again, which extends it. Without a time it frees the lock, if that is the holder's.
type LockRestart struct {
	Peer model.PeerID  `cbor:"1,keyasint,omitempty"`
	Key  string        `cbor:"2,keyasint,omitempty"` // of what restarts the peer: two on one machine exclude each other, too
	For  time.Duration `cbor:"3,keyasint,omitempty"` // 0: the lock is freed
}

// Kind returns KindLockRestart.
func (*LockRestart) Kind() Kind { return KindLockRestart }

// Validate checks the id and the bounds.
func (b *LockRestart) Validate() error {
	const maxKey = 64 // bytes
	switch {
	case !model.Name(string(b.Peer)):
		return invalid("peer", "an id")
	case b.Key == "" || !model.Text(b.Key, maxKey):
		return invalid("key", "a text of 1 to 64 bytes")
	case b.For != 0 && (b.For < time.Second || b.For > time.Hour):
		return invalid("for", "from 1 s to 1 h")
	}
	return nil
}
