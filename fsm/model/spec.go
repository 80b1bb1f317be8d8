package model

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Spec is a user's request: a command, its GPUs, its limits. It is complete: names are resolved and defaults filled in before it reaches
// the log.
type Spec struct {
	Name    string `cbor:"1,keyasint,omitempty"`
	User    string `cbor:"2,keyasint,omitempty"`
	Project string `cbor:"3,keyasint,omitempty"`
	RunID   string `cbor:"4,keyasint,omitempty"` // the user's own name of the run; may repeat

	Class    Class `cbor:"5,keyasint,omitempty"`
	Priority uint8 `cbor:"6,keyasint,omitempty"` // as the user gave it, 1 to 10

	Command string `cbor:"7,keyasint,omitempty"` // a shell command, or with Argv the arguments
	Argv    bool   `cbor:"8,keyasint,omitempty"` // Command holds arguments, separated by NUL
	WorkDir string `cbor:"9,keyasint,omitempty"` // absolute, or empty for the attempt's folder

	GPUs        uint32 `cbor:"10,keyasint,omitempty"` // in all; 0: a job without GPUs, which holds CPUs and MemoryMB
	Nodes       uint32 `cbor:"11,keyasint,omitempty"` // exactly so many, with GPUs/Nodes on each; 0: as placed
	GPUModel    string `cbor:"12,keyasint,omitempty"` // what [OfModel] finds models by; empty: any
	GPUMemoryMB uint32 `cbor:"13,keyasint,omitempty"` // at least so much on each
	CPUs        uint32 `cbor:"14,keyasint,omitempty"` // limit a node, in cores; 0: none. Of a job without GPUs what it holds there, 1 or more
	MemoryMB    uint32 `cbor:"15,keyasint,omitempty"` // likewise, in MB

	TimeLimit time.Duration `cbor:"16,keyasint,omitempty"` // run time; 0: none
	Estimate  time.Duration `cbor:"17,keyasint,omitempty"` // the user's guess of the run time; 0: none

	MaxRetries  uint32 `cbor:"18,keyasint,omitempty"` // further attempts after a failure of its own
	Preemptible bool   `cbor:"19,keyasint,omitempty"`
	Held        bool   `cbor:"20,keyasint,omitempty"` // waits for a release before it may start

	OnLost           OnLost        `cbor:"21,keyasint,omitempty"`
	DisconnectGrace  time.Duration `cbor:"22,keyasint,omitempty"` // T: how long a node may be out of contact
	StopSignal       string        `cbor:"23,keyasint,omitempty"` // "TERM", "USR1"; empty: TERM
	Grace            time.Duration `cbor:"24,keyasint,omitempty"` // from the stop signal to the kill
	CheckpointSignal string        `cbor:"25,keyasint,omitempty"` // sent before StopSignal; empty: none
	CheckpointGrace  time.Duration `cbor:"26,keyasint,omitempty"` // from the checkpoint signal to StopSignal

	RetryOn            string        `cbor:"27,keyasint,omitempty"` // "75,137": exit codes that a retry is for; empty: any but 0
	WarnSignal         string        `cbor:"28,keyasint,omitempty"` // sent WarnBefore ahead of the time limit; empty: none
	WarnBefore         time.Duration `cbor:"29,keyasint,omitempty"`
	CheckpointInterval time.Duration `cbor:"30,keyasint,omitempty"` // CheckpointSignal is sent this often; 0: only before a stop
	CheckpointDir      string        `cbor:"31,keyasint,omitempty"` // absolute; empty: the node's own place
	Attached           time.Duration `cbor:"32,keyasint,omitempty"` // canceled after that long without a sign of life of its client; 0: not attached
	IdleStop           time.Duration `cbor:"40,keyasint,omitempty"` // canceled when all its GPUs were at 0 % for so long; 0: never

	Array     string `cbor:"33,keyasint,omitempty"` // the tasks' numbers as [Indices] write them; empty: 0 and up
	Sweep     string `cbor:"34,keyasint,omitempty"` // what [ParseSweep] reads: task n has the grid's n-th values; empty: none
	Begin     Time   `cbor:"35,keyasint,omitempty"` // not to start before; 0: at once
	Deadline  Time   `cbor:"36,keyasint,omitempty"` // to have ended by; 0: none
	Slurm     string `cbor:"53,keyasint,omitempty"` // what a job in Slurm's language asks for in addition, in JSON; empty: it is none. Only agents and answers use it
	Lead      bool   `cbor:"52,keyasint,omitempty"` // the job ends with rank 0: the other ranks are stopped then, and their exits do not count
	ScriptSum uint32 `cbor:"51,keyasint,omitempty"` // start of the script's SHA-256; 0: there is no script. Apply sets it

	Umask string `cbor:"54,keyasint,omitempty"` // of file modes, four octal digits; empty: the node's

	Constraint string `cbor:"41,keyasint,omitempty"` // of its nodes' labels, as [Constraint] writes it; empty: none
	Nodelist   string `cbor:"42,keyasint,omitempty"` // only these nodes, as [ParseNodes] lists them; empty: any
	Exclude    string `cbor:"43,keyasint,omitempty"` // none of these nodes, likewise
	Placement  string `cbor:"44,keyasint,omitempty"` // name of the [Strategy] that it is placed by; empty: the cluster's
	MinGPUs    uint32 `cbor:"45,keyasint,omitempty"` // it takes so many where GPUs are not to be had, and whole nodes fewer; 0: all or none

	Notify     NoticeSet `cbor:"49,keyasint,omitempty"` // the notices for WebhookURL
	WebhookURL string    `cbor:"50,keyasint,omitempty"` // the job's own; empty: none
}

// Bounds of the times of a job; [MaxDuration] bounds those without a bound of their own.
const (
	MaxGrace              = time.Hour
	MinCheckpointInterval = 10 * time.Second
	MinAttached           = 5 * time.Second
	MinIdleStop           = time.Minute // at 0 %
)

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
		WantText("gpu_model", s.GPUModel, MaxName), WantText("slurm", s.Slurm, MaxData)); err != nil {
		return err
	}
	switch {
	case len(s.Command) > MaxCommand || !utf8.ValidString(s.Command) || (!s.Argv && strings.ContainsRune(s.Command, 0)):
		return want("command", "at most %d bytes of UTF-8 without NUL (longer ones go into a script)", MaxCommand)
	case s.WorkDir != "" && !absolute(s.WorkDir):
		return want("workdir", "an absolute path of at most %d bytes", MaxPath)
	case s.Umask != "" && !fileMask(s.Umask):
		return want("umask", "a mask of file modes of four octal digits, 0000 to 0777")
	}
	return nil
}

func (s *Spec) validSize() error {
	switch {
	case !s.Class.Valid():
		return want("priority", "a class from 1 (low) to 4 (critical)")
	case s.Priority > MaxPriority:
		return want("priority", "at most %d", MaxPriority)
	case s.GPUs > MaxGPUs:
		return want("gpus", "0 to %d", MaxGPUs)
	case s.MinGPUs > 0 && s.MinGPUs >= s.GPUs:
		return want("min_gpus", "less than gpus (%d)", s.GPUs)
	case s.WithoutGPUs() && (s.CPUs < 1 || s.CPUs > MaxCPUs):
		return want("cpus", "1 to %d for a job without GPUs, which holds them", MaxCPUs)
	case s.WithoutGPUs() && s.MemoryMB < 1:
		return want("host_memory_gb", "more than 0 for a job without GPUs, which holds it")
	case s.WithoutGPUs() && (s.GPUModel != "" || s.GPUMemoryMB > 0 || s.IdleStop > 0):
		return want("gpus", "at least 1 with gpu_model, gpu_memory or idle_stop")
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
		{"grace", s.Grace, MaxGrace},
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
	case f.StartSpan() < minRunUnderLease-startSlack:
		return want("disconnect_grace", "at least %s with these grace times, so that a job out of contact still runs %s "+
			"before its fence begins", f.FenceLead()+minRunUnderLease, minRunUnderLease)
	case !signalName(s.StopSignal):
		return want("stop_signal", "a signal's name such as TERM or USR1")
	case !signalName(s.CheckpointSignal):
		return want("checkpoint_signal", "a signal's name such as USR1")
	case !signalName(s.WarnSignal):
		return want("signal", "a signal's name such as USR1")
	case s.CheckpointInterval > 0 && (s.CheckpointSignal == "" || s.CheckpointInterval < MinCheckpointInterval):
		return want("checkpoint_interval", "at least %s, with a checkpoint_signal", MinCheckpointInterval)
	case s.CheckpointDir != "" && !absolute(s.CheckpointDir):
		return want("checkpoint_dir", "an absolute path of at most %d bytes", MaxPath)
	case !exitCodes(s.RetryOn):
		return want("retry_on", "exit codes from 1 to 255, at most %d of them", maxExitCodes)
	case s.Attached > 0 && s.Attached < MinAttached:
		return want("attached", "at least %s", MinAttached)
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

// fileMask reports whether a text is a mask of file modes.
func fileMask(text string) bool {
	return len(text) == 4 && text[0] == '0' && strings.Trim(text, "01234567") == ""
}

// TextBytes returns the size of the user's texts in the spec.
func (s *Spec) TextBytes() (n int) {
	for _, text := range []string{
		s.Name, s.User, s.Project, s.RunID, s.Command, s.WorkDir, s.GPUModel, s.StopSignal, s.CheckpointSignal, s.RetryOn, s.Slurm, s.Umask,
		s.WarnSignal, s.CheckpointDir, s.Array, s.Sweep, s.Constraint, s.Nodelist, s.Exclude, s.Placement, s.WebhookURL,
	} {
		n += len(text)
	}
	return n
}

// Called returns a job's name in lists: its name, otherwise its run's id, otherwise its command.
func Called(s *Spec) string { return Clip(cmp.Or(s.Name, s.RunID, s.oneLine(), s.scriptName())) }

// RunName returns the name under which run times are learned and predicted: the job's name, otherwise its
// command, so that runs without a name are not taken for runs of the same thing. The run's id comes last,
// since many programs draw another for each run. Empty if nothing is known of what the job runs.
func (s *Spec) RunName() string {
	if s.Name != "" {
		return s.Name
	}
	name := strings.TrimSpace(s.oneLine() + " " + s.scriptName())
	if len(s.Command) > MaxText {
		name += fmt.Sprintf(" #%x", sha256.Sum256([]byte(s.Command)))
	}
	return cmp.Or(name, s.RunID)
}

// oneLine returns the start of the command, at most MaxText bytes, on one line.
func (s *Spec) oneLine() string {
	words := strings.FieldsFunc(s.Command[:min(len(s.Command), MaxText)], func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
	return strings.Join(words, " ")
}

// scriptName returns a name of the script by its content; empty if there is none.
func (s *Spec) scriptName() string {
	if s.ScriptSum == 0 {
		return ""
	}
	return fmt.Sprintf("script %08x", s.ScriptSum)
}

// WithoutGPUs reports whether the job asks for no GPUs. Such a job holds CPUs and MemoryMB on each of its nodes.
func (s *Spec) WithoutGPUs() bool { return s.GPUs == 0 }

// Least returns how many GPUs the job accepts if it cannot have all that it asks for: whole nodes, if it sets the number of nodes.
func (s *Spec) Least() uint32 {
	switch each := max(s.GPUs/max(s.Nodes, 1), 1); {
	case s.MinGPUs == 0:
		return s.GPUs
	case s.Nodes > 1 && each > 0: // else it is no valid spec, as of a damaged snapshot
		return (s.MinGPUs + each - 1) / each * each
	}
	return s.MinGPUs
}

// Fewer returns Least if that is less than all; otherwise 0.
func (s *Spec) Fewer() uint32 {
	if least := s.Least(); least < s.GPUs {
		return least
	}
	return 0
}

// Takes reports whether the job accepts so many GPUs on so many nodes, evenly if it sets the number of nodes.
func (s *Spec) Takes(gpus, nodes uint32) bool {
	if gpus < s.Least() || gpus > s.GPUs || nodes == 0 {
		return false
	}
	switch {
	case s.WithoutGPUs():
		return nodes == max(s.Nodes, 1)
	case s.Nodes > 1:
		return nodes <= s.Nodes && gpus == nodes*(s.GPUs/s.Nodes)
	case s.Nodes == 1:
		return nodes == 1
	}
	return true
}

// Granted returns the spec of a job as it runs with so many GPUs on so many nodes.
func (s *Spec) Granted(gpus, nodes uint32) Spec {
	out := *s
	out.GPUs, out.MinGPUs = gpus, 0
	if s.Nodes > 0 {
		out.Nodes = nodes
	}
	return out
}

// Where returns the nodes on which the job may run.
func (s *Spec) Where() Where {
	return Where{Constraint: s.Constraint, Nodelist: s.Nodelist, Exclude: s.Exclude}
}

// Retries reports whether an end like this one is retried, as far as RetryOn decides. A signal counts as 128 plus its number, as in shells.
func (s *Spec) Retries(e Exit) bool {
	if s.RetryOn == "" {
		return true
	}
	code := strconv.Itoa(e.ShellCode())
	for v := range strings.SplitSeq(s.RetryOn, ",") {
		if v == code {
			return true
		}
	}
	return false
}

// Shape is the common part of jobs that fit in the same places: two jobs of one shape have one verdict in a scheduling pass.
type Shape struct {
	GPUs     uint32
	Nodes    uint32
	MemoryMB uint32 // at least, on each GPU
	Model    string // GPU model; empty: any
	Where    Where  // on which nodes
	Strategy string // by which they are chosen; empty: the cluster's
	MinGPUs  uint32 // it takes so many if it must; 0: all or none
	CPUs     uint32 // cores that a job without GPUs holds on each node; of others 0
	HostMB   uint32 // likewise, memory in MB
}

// Shape returns the spec's shape.
func (s *Spec) Shape() Shape {
	shape := Shape{
		GPUs: s.GPUs, Nodes: s.Nodes, MemoryMB: s.GPUMemoryMB, Model: s.GPUModel, Where: s.Where(), Strategy: s.Placement,
		MinGPUs: s.Fewer(),
	}
	if s.WithoutGPUs() {
		shape.CPUs, shape.HostMB = s.CPUs, s.MemoryMB
	}
	return shape
}
