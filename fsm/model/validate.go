package model

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what users and agents may send. They are checked before the log and again in Apply, so that no
// row can grow past what a snapshot and a log entry carry.
const (
	MaxName      = 128 // names of jobs, users, projects, nodes, signals
	MaxText      = 512 // reasons and details
	MaxCommand   = 4 << 10
	MaxPath      = 1 << 10
	MaxScript    = 64 << 10
	MaxStdin     = 48 << 10 // as base64 as long as a script
	MaxEnv       = 32 << 10
	MaxData      = 8 << 10
	MaxTasks     = 10_000  // of an array
	MaxIndex     = 999_999 // a task's number in an array
	MaxIndices   = 4 << 10 // bytes of an array's numbers, as text
	MaxSweep     = 4 << 10 // bytes of a sweep
	MaxAfter     = 64      // jobs that one waits for
	MaxGPUs      = 8_192   // of one task
	MaxDuration  = 366 * 24 * time.Hour
	MaxRetries   = 1_000
	MaxDevices   = 64 // of a node
	MaxURL       = 2 << 10
	MaxRequestID = 128
)

// Problem is a value that is not allowed: its field, and what is allowed.
type Problem struct {
	Field string // as in the API: "gpus"
	Want  string // "1 to 8192"
}

// Error returns "field: must be want".
func (p *Problem) Error() string { return p.Field + ": must be " + p.Want }

func want(field, format string, args ...any) error {
	return &Problem{Field: field, Want: fmt.Sprintf(format, args...)}
}

// Validate returns what is invalid in the spec itself, whatever the cluster is; nil when it is valid.
func (s *Spec) Validate() error {
	for _, check := range []func() error{s.validNames, s.validSize, s.validTimes, s.validEnds, s.validDates, s.validPlaces} {
		if err := check(); err != nil {
			return err
		}
	}
	return cmp.Or(validGrid(s), validNotify(s))
}

func (s *Spec) validNames() error {
	if s.Project != "" {
		if err := WantName("project", s.Project); err != nil {
			return err
		}
	}
	if err := cmp.Or(WantName("user", s.User), WantText("name", s.Name, MaxName), WantText("run_id", s.RunID, MaxName),
		WantText("gpu_model", s.GPUModel, MaxName)); err != nil {
		return err
	}
	switch {
	case len(s.Command) > MaxCommand || !utf8.ValidString(s.Command) || (!s.Argv && strings.ContainsRune(s.Command, 0)):
		return want("command", "at most %d bytes of UTF-8 without NUL (longer ones go into a script)", MaxCommand)
	case s.WorkDir != "" && !absolute(s.WorkDir):
		return want("workdir", "an absolute path of at most %d bytes", MaxPath)
	}
	return nil
}

func (s *Spec) validSize() error {
	switch {
	case !s.Class.Valid():
		return want("priority", "a class from 1 (low) to 4 (critical)")
	case s.Priority > 10:
		return want("priority", "at most 10")
	case s.GPUs < 1 || s.GPUs > MaxGPUs:
		return want("gpus", "1 to %d", MaxGPUs)
	case s.MinGPUs > 0 && s.MinGPUs >= s.GPUs:
		return want("min_gpus", "less than gpus (%d)", s.GPUs)
	case s.Nodes > MaxRanks:
		return want("nodes", "at most %d", MaxRanks)
	case s.Nodes > 0 && s.GPUs%s.Nodes != 0:
		return want("gpus", "a multiple of nodes (%d)", s.Nodes)
	case s.MaxRetries > MaxRetries:
		return want("max_retries", "at most %d", MaxRetries)
	}
	return nil
}

func (s *Spec) validTimes() error {
	for _, d := range []struct {
		field string
		value time.Duration
		limit time.Duration
	}{
		{"time_limit", s.TimeLimit, MaxDuration},
		{"estimated_duration", s.Estimate, MaxDuration},
		{"grace", s.Grace, time.Hour},
		{"checkpoint_grace", s.CheckpointGrace, MaxDisconnectGrace},
		{"checkpoint_interval", s.CheckpointInterval, MaxDuration},
		{"warn_before", s.WarnBefore, MaxDuration},
		{"attached", s.Attached, MaxDisconnectGrace},
		{"idle_stop", s.IdleStop, MaxDuration},
	} {
		if d.value < 0 || d.value > d.limit {
			return want(d.field, "0 to %s", d.limit)
		}
	}
	return nil
}

func (s *Spec) validEnds() error {
	f := s.Freeze()
	switch {
	case !s.OnLost.Valid():
		return want("on_lost", "requeue, hold or fail")
	case f.T < MinDisconnectGrace || f.T > MaxDisconnectGrace:
		return want("disconnect_grace", "%s to %s", MinDisconnectGrace, MaxDisconnectGrace)
	case s.OnLost != OnLostHold && f.T-f.FenceLead() < minRunUnderLease:
		return want("disconnect_grace", "at least %s with these grace times, so that a job out of contact still runs %s "+
			"before its fence begins", f.FenceLead()+minRunUnderLease, minRunUnderLease)
	case !signalName(s.StopSignal):
		return want("stop_signal", "a signal's name such as TERM or USR1")
	case !signalName(s.CheckpointSignal):
		return want("checkpoint_signal", "a signal's name such as USR1")
	case !signalName(s.WarnSignal):
		return want("signal", "a signal's name such as USR1")
	case s.CheckpointInterval > 0 && (s.CheckpointSignal == "" || s.CheckpointInterval < minCheckpointInterval):
		return want("checkpoint_interval", "at least %s, with a checkpoint_signal", minCheckpointInterval)
	case s.CheckpointDir != "" && !absolute(s.CheckpointDir):
		return want("checkpoint_dir", "an absolute path of at most %d bytes", MaxPath)
	case !exitCodes(s.RetryOn):
		return want("retry_on", "exit codes from 1 to 255, at most 32 of them")
	case s.Attached > 0 && s.Attached < minAttached:
		return want("attached", "at least %s", minAttached)
	case s.IdleStop > 0 && s.IdleStop < MinIdleStop:
		return want("idle_stop", "at least %s", MinIdleStop)
	}
	return nil
}

func (s *Spec) validPlaces() error {
	if s.GPUModel != SortModels(s.GPUModel) {
		return want("gpu_model", "alternatives in rising order, each once")
	}
	if _, known := StrategyNamed(s.Placement); s.Placement != "" && !known {
		return want("placement", "best_fit, spread, round_robin or least_loaded")
	}
	return s.Where().Validate()
}

func validNotify(s *Spec) error {
	switch {
	case s.WebhookURL != "" && !WebURL(s.WebhookURL):
		return want("webhook_url", "http://... or https://... of at most %d bytes", MaxURL)
	case !s.Notify.Within(JobNotices()) || (s.Notify == 0) != (s.WebhookURL == ""):
		return want("notify", "given together with webhook_url, as events of jobs")
	}
	return nil
}

// The shortest times that a job may ask for.
const (
	minCheckpointInterval = 10 * time.Second
	minAttached           = 5 * time.Second
)

// MinIdleStop is the shortest time at 0 % that may end a job.
const MinIdleStop = time.Minute

func absolute(path string) bool {
	return strings.HasPrefix(path, "/") && len(path) <= MaxPath && !strings.ContainsRune(path, 0) && utf8.ValidString(path)
}

// exitCodes reports whether s lists exit codes in rising order, or none.
func exitCodes(s string) bool {
	if s == "" {
		return true
	}
	last, n := uint64(0), 0
	for v := range strings.SplitSeq(s, ",") {
		code, err := strconv.ParseUint(v, 10, 8)
		if err != nil || code <= last || strconv.FormatUint(code, 10) != v {
			return false
		}
		last = code
		n++
	}
	return n <= maxExitCodes
}

const maxExitCodes = 32

// ServiceName reports whether s can be the name of a service that requests GPUs: 1 to 100 letters, digits,
// dots, hyphens and underscores, which leaves room for a number and needs no quoting in paths.
func ServiceName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// WebURL reports whether s is an http or https URL with a host and without credentials.
func WebURL(s string) bool {
	if len(s) > MaxURL || !Text(s, MaxURL) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

func signalName(s string) bool {
	return len(s) <= 12 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-'
	})
}

// Clip cuts a text to MaxText bytes, between characters, and leaves out what [Text] does not allow.
func Clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if runeFault(r) != "" {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	for len(s) > MaxText {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
