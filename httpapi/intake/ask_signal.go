package intake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// signalNames are the signals in order of their numbers on Linux, from 1 on.
const signalNames = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ " +
	"VTALRM PROF WINCH IO PWR SYS"

// signal converts USR1, SIGUSR1, usr1 and 10 to USR1. The node would take an unknown name for TERM, and a job that
// seems to save checkpoints may be suspended.
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

// setWarning parses "USR1@300", or Slurm's "B:USR1@300".
func setWarning(r *wire.Submit, v *FlagValue) error {
	name, before, timed := strings.Cut(strings.TrimPrefix(v.Text, "B:"), "@")
	r.WarnSignal = name
	if !timed {
		return nil
	}
	d, err := wire.ParseDuration(before)
	if err != nil {
		return fmt.Errorf("--signal %s: the time after @ %w", v.Text, err)
	}
	r.WarnBefore = new(wire.Duration(d))
	return nil
}

func writeWarnBefore(j *model.Job, r *wire.Submit) {
	if j.Spec.WarnSignal != "" {
		r.WarnBefore = new(wire.Duration(j.Spec.WarnBefore))
	}
}
