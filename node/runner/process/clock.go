package process

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// Now reads the host's two clocks. CLOCK_BOOTTIME is there on every Linux since
// 2.6.39: the call cannot fail.
func Now() fence.Reading {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return fence.Reading{Boot: fence.Boot(t.Nano()), Real: model.TimeOf(time.Now())}
}
