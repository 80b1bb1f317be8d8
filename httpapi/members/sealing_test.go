package members

import (
	"errors"
	"testing"
	"time"
)

// A peer that fails to get the key of secrets tries less and less often, and after a success as often as before.
func TestPauseBetweenTriesForTheKey(t *testing.T) {
	t.Parallel()
	pause, failure := sealingPause(sealingEvery, nil), errors.New("the disk is full")
	for i, want := range []time.Duration{
		400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond,
		6400 * time.Millisecond, sealingAgain, sealingAgain,
	} {
		if pause = sealingPause(pause, failure); pause != want {
			t.Errorf("after failure %d the pause is %s, want %s", i+1, pause, want)
		}
	}
	if pause = sealingPause(pause, nil); pause != sealingEvery {
		t.Errorf("after a success the pause is %s, want %s", pause, sealingEvery)
	}
}
