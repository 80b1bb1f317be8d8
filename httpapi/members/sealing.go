package members

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
)

const (
	sealingEvery = 200 * time.Millisecond // until there is a key; after a failure twice as long each time
	sealingAgain = 10 * time.Second       // between two questions for a key that is missing, and the longest time after a failure
)

// KeepSealing gives this peer the keys by which texts of users are sealed, until the context ends: from other peers, and where
// none has one the leader draws the first. The secret of notices with which the cluster was founded is sealed, too.
func KeepSealing(ctx context.Context, a *core.API) {
	k := &sealingKeeper{members: members{api: a}, ring: a.Config.Sealing}
	pause := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	next := sealingEvery
	for {
		done, err := k.step(ctx)
		next = sealingPause(next, err)
		if text := fmt.Sprint(err); err != nil && text != k.logged {
			a.Log.Warn("no_sealing_key", "err", err, "remedy", "submissions with a script or an environment wait until this peer has the key")
			k.logged = text
		}
		if !done {
			if !pause(next) {
				return
			}
			continue
		}
		select {
		case <-k.ring.Lacks():
			k.missing = true
		case <-ctx.Done():
			return
		}
		if !pause(sealingAgain) { // a text whose key is lost is no reason for a question at each look at the text
			return
		}
	}
}

// sealingPause returns the time from a try to the next one: after a failure twice the pause before, up to a limit.
func sealingPause(last time.Duration, err error) time.Duration {
	if err == nil {
		return sealingEvery
	}
	return min(2*last, sealingAgain)
}

// sealingKeeper is the work of [KeepSealing].
type sealingKeeper struct {
	members

	ring    *sealing.Ring
	drawn   []byte // a key that is not stored at most peers yet
	missing bool   // a text was met whose key is not here
	logged  string // the failure in the log
}

// step does what is due, and reports whether that is all.
func (k *sealingKeeper) step(ctx context.Context) (done bool, err error) {
	s := k.api.State()
	if have := len(k.ring.Keys()); have == 0 || k.missing {
		answered, err := k.fetch(ctx)
		if err != nil {
			return false, err
		}
		k.missing = false
		if len(k.ring.Keys()) == 0 {
			if err := k.draw(ctx, &s, answered); err != nil {
				return false, err
			}
		}
	}
	if len(k.ring.Keys()) == 0 {
		return false, nil
	}
	return k.sealNotices(ctx, &s)
}

// fetch takes in the keys of all other peers that answer, and returns how many have.
func (k *sealingKeeper) fetch(ctx context.Context) (answered int, err error) {
	for _, s := range k.others() {
		got, failed := ask(ctx, k.api, s, giveSecrets, &struct{}{})
		if failed != nil {
			continue
		}
		answered++
		err = errors.Join(err, k.ring.Add(got.Sealing...))
	}
	return answered, err
}

// draw makes the first key of the cluster, if this peer leads: most peers store the key before anything is sealed by it, so
// that no loss of one machine loses what is sealed.
func (k *sealingKeeper) draw(ctx context.Context, s *state.State, answered int) error {
	leader, _ := k.api.Peer.Members.Leader()
	if !leader.Self || !majority(answered+1, len(k.others())+1) {
		return nil
	}
	if k.drawn == nil {
		k.drawn = sealing.NewKey()
	}
	stored := 1
	for _, other := range k.others() {
		if k.trusted(s, other.ID) != nil {
			continue
		}
		if _, err := ask(ctx, k.api, other, keepSecrets, &secrets{Sealing: [][]byte{k.drawn}}); err == nil {
			stored++
		}
	}
	if !majority(stored, len(k.others())+1) {
		return fmt.Errorf("only %d of %d peers have stored the key by which texts of users are to be sealed", stored, len(k.others())+1)
	}
	if err := k.ring.Add(k.drawn); err != nil {
		return err
	}
	k.api.Log.Info("sealing_key_made", "key", sealing.KeyID(k.drawn))
	return nil
}

// majority reports whether some of all peers are most of them.
func majority(some, all int) bool { return 2*some > all }

// sealNotices replaces the secret of notices if it is not sealed, at the leader.
func (k *sealingKeeper) sealNotices(ctx context.Context, s *state.State) (done bool, err error) {
	n := s.Settings().Notify
	leader, _ := k.api.Peer.Members.Leader()
	if n.Secret == "" || model.Sealed(n.Secret) {
		return true, nil
	}
	if !leader.Self {
		return false, nil
	}
	if s.Settings().NextJob <= 1 { // as the cluster was founded: no receiver knows the secret yet, and the one in the log is of no use then
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails
		n.Secret = model.NewHookSecret(random)
	}
	_, _, err = k.api.ProposeAs(ctx, "peer:"+string(k.api.Config.Self), "", &command.SetNotify{Notify: n})
	return err == nil, err
}

// others returns all peers but this one.
func (m members) others() []peer.Server {
	return slices.DeleteFunc(slices.Clone(m.api.Peer.Members.Status().Servers), func(s peer.Server) bool { return s.ID == m.api.Config.Self })
}
