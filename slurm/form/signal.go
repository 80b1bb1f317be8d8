package form

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// signalNames are the signals in order of their numbers on Linux, from 1 on.
const signalNames = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ " +
	"VTALRM PROF WINCH IO PWR SYS"

// ParseSignal returns the name of a signal, such as USR1, for USR1, SIGUSR1, usr1 or 10.
func ParseSignal(text string) (string, error) {
	all := strings.Fields(signalNames)
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if n, err := digits(text); err == nil && n > 0 && n <= len(all) {
		name = all[n-1]
	}
	if !slices.Contains(all, name) {
		return "", bad(text, "is no signal: write a name or number, such as USR1, SIGTERM or 10")
	}
	return name, nil
}

// SignalNumber returns the number of a signal's name on Linux, or 0.
func SignalNumber(name string) int {
	return slices.Index(strings.Fields(signalNames), name) + 1
}

// Warning is the value of --signal: a signal ahead of the end of a job's time.
type Warning struct {
	Signal string        // such as USR1
	Before time.Duration // 60 s by default, at most 65535 s
	Batch  bool          // B: to the batch script alone; else to the processes of all steps, not to the script
}

// ParseWarning parses [R|B:]SIGNAL[@SECONDS]. The flag R, which lets a job overlap with a reservation, has no effect.
func ParseWarning(text string) (Warning, error) {
	w := Warning{Before: time.Minute}
	rest := text
	if flags, after, found := strings.Cut(text, ":"); found {
		rest = after
		switch strings.ToUpper(flags) {
		case "B", "RB", "BR":
			w.Batch = true
		case "R":
		default:
			return Warning{}, bad(text, "is no signal: in front of the colon only R and B are allowed, as in B:USR1@300")
		}
	}
	name, seconds, timed := strings.Cut(rest, "@")
	var err error
	if w.Signal, err = ParseSignal(name); err != nil {
		return Warning{}, err
	}
	if timed {
		const most = 65535
		n, err := digits(seconds)
		if err != nil || n > most {
			return Warning{}, bad(text, "has no valid time after @: seconds from 0 to %d, as in USR1@300", most)
		}
		w.Before = time.Duration(n) * time.Second
	}
	return w, nil
}

// String returns the value as [ParseWarning] reads it.
func (w Warning) String() string {
	text := w.Signal + "@" + strconv.Itoa(int(w.Before/time.Second))
	if w.Batch {
		return "B:" + text
	}
	return text
}
