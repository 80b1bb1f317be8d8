package notify

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// late is a peer whose answers are old when they come: others proceed meanwhile.
type late struct{ *fake }

// State returns how things stood before others went on.
func (l late) State() state.State {
	s := l.fake.State()
	for range 1000 {
		runtime.Gosched()
	}
	return s
}

// Nothing is sent twice because the state that was looked at is of before it was noted to be delivered.
func TestNothingIsSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFake(t), newReceivers()
		defer deliverBy(late{f}, f, r)()
		f.with(func(c *statetest.Cluster) { c.Do(hook("well", "https://well")) })
		f.crowd(200)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(r.taken("https://well")); n != 200 {
			t.Errorf("200 were to be sent, and %d were", n)
		}
	})
}
