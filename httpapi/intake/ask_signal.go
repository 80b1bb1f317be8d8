package intake

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// signalNames are the signals in order of their numbers on Linux, from 1 on.
const signalNames = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ " +
	"VTALRM PROF WINCH IO PWR SYS"

// signals parses the signals that a job gets during its run and at its end. The node would take an
// unknown name for TERM, and a job that seems to save checkpoints may be suspended.
func signals(r *wire.Submit, c *command.Submit) (err error) {
	s := &c.Spec
	for _, v := range []struct {
		field, given string
		ends         bool // it may be one that no process can catch
		to           *string
	}{
		{"stop_signal", r.StopSignal, true, &s.StopSignal},
		{"checkpoint_signal", r.CheckpointSignal, false, &s.CheckpointSignal},
		{"warn_signal", r.WarnSignal, false, &s.WarnSignal},
	} {
		if *v.to, err = signal(v.field, v.given); err != nil {
			return err
		}
		if !v.ends && (*v.to == "KILL" || *v.to == "STOP") {
			return problem.Invalid(v.field, "must be a signal that the job can catch, such as USR1: no process can catch "+*v.to)
		}
	}
	return nil
}

// signal converts USR1, SIGUSR1, usr1 and 10 to USR1.
func signal(field, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	all := strings.Fields(signalNames)
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= len(all) {
		name = all[n-1]
	}
	if !slices.Contains(all, name) {
		return "", problem.Invalid(field, "must be a signal's name or number, such as USR1, SIGTERM or 10; there is no signal "+strconv.Quote(model.Clip(text)))
	}
	return name, nil
}
