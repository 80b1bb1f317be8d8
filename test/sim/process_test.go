package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Time stops for the processes of a machine that is stopped: one that is killed meanwhile is gone when the
// machine goes on, one that is frozen has lost nothing, and an untouched one has run no further.
func TestProcessesStandStillWithTheirMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const run, stood = time.Minute, 40 * time.Second
		var k kernel
		spawn := func(job model.JobID) *process {
			return k.spawn(model.RankKey{Job: job, N: 1}, nil, behavior{Run: run, KillLag: time.Second})
		}
		untouched, killed, slow, frozen := spawn(1), spawn(2), spawn(3), spawn(4)
		time.Sleep(10 * time.Second)
		k.pause(true)
		time.Sleep(stood / 2)
		k.kill(killed)
		k.killAll(slow.rank)
		k.freeze(frozen.rank, true)
		time.Sleep(stood / 2)
		k.pause(false)

		k.settle()
		if !killed.gone || slow.gone {
			t.Errorf("gone when the machine goes on: the one killed at once %t, the one that takes a second %t", killed.gone, slow.gone)
		}
		time.Sleep(time.Second)
		k.freeze(frozen.rank, false)
		if k.settle(); !slow.gone {
			t.Error("a process lives on after its kill")
		}
		time.Sleep(run - 11*time.Second - 1)
		if k.settle(); untouched.gone || frozen.gone {
			t.Error("a process has run while its machine stood still")
		}
		time.Sleep(time.Nanosecond)
		if k.settle(); !untouched.gone || frozen.gone {
			t.Errorf("at the end of its time: untouched gone %t, frozen a second longer gone %t", untouched.gone, frozen.gone)
		}
		time.Sleep(time.Second)
		if k.settle(); !frozen.gone {
			t.Error("a frozen process runs too long")
		}
	})
}
