package process

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/fence"
)

// alarm wakes a supervisor at a reading of CLOCK_BOOTTIME. The timers of Go count no time for which the host
// is suspended: after it they would ring that much too late, and until then the rank would run on, whatever
// has happened to its lease.
type alarm struct {
	file  *os.File // nil: this kernel has no such timer
	at    fence.Boot
	rings chan struct{}
}

func newAlarm() *alarm {
	a := &alarm{rings: make(chan struct{}, 1)}
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return a // what is due is still seen at the next look
	}
	a.file = os.NewFile(uintptr(fd), "alarm")
	go func() {
		count := make([]byte, 8)
		for {
			if _, err := a.file.Read(count); err != nil {
				return
			}
			select {
			case a.rings <- struct{}{}:
			default: // the one before is not received yet
			}
		}
	}()
	return a
}

// set sets the alarm to an instant; one that has passed rings at once, 0 never.
func (a *alarm) set(at fence.Boot) {
	if a.file == nil || at == a.at {
		return
	}
	a.at = at
	conn, err := a.file.SyscallConn()
	if err != nil {
		return
	}
	spec := &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	_ = conn.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, spec, nil) })
}

func (a *alarm) close() {
	if a.file != nil {
		_ = a.file.Close()
	}
}

// next returns the latest instant for the next look at a rank, after one now: its fence begins, starts to
// kill, or a grace ends; 0: no such instant is known.
func (s *supervisor) next(now fence.Boot) fence.Boot {
	due := []fence.Boot{s.ending.killAt}
	if !s.ending.asked {
		due = append(due, s.ending.stopAt)
	}
	if f, bounded := s.guard.Deadline(); bounded {
		due = append(due, f.Stop, f.Kill)
	}
	at := fence.Boot(0)
	for _, t := range due {
		if t > now && (at == 0 || t < at) {
			at = t
		}
	}
	return at
}
