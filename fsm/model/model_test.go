package model

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func good() Spec {
	return Spec{
		Name: "train", User: "ann", Project: "vision", Class: ClassNormal, Command: "python train.py", GPUs: 8, Nodes: 2,
		OnLost: OnLostRequeue, DisconnectGrace: DefaultDisconnectGrace, Grace: 30 * time.Second, StopSignal: "TERM",
	}
}

// The error of an invalid spec names the field, with the allowed values.
func TestASpecSaysWhatIsWrong(t *testing.T) {
	if s := good(); s.Validate() != nil {
		t.Fatalf("a good spec is refused: %v", s.Validate())
	}
	long := strings.Repeat("x", MaxCommand+1)
	for field, breaks := range map[string][]func(*Spec){
		"user":      {func(s *Spec) { s.User = "" }, func(s *Spec) { s.User = "a b" }, func(s *Spec) { s.User = "a\x00" }},
		"project":   {func(s *Spec) { s.Project = "\xff" }},
		"name":      {func(s *Spec) { s.Name = "two\nlines" }, func(s *Spec) { s.Name = strings.Repeat("ü", 65) }},
		"run_id":    {func(s *Spec) { s.RunID = "\x1b[31m" }},
		"gpu_model": {func(s *Spec) { s.GPUModel = "a\tb" }},
		"command":   {func(s *Spec) { s.Command = long }, func(s *Spec) { s.Command = "a\x00b" }},
		"workdir":   {func(s *Spec) { s.WorkDir = "home" }, func(s *Spec) { s.WorkDir = "/a\x00" }},
		"priority":  {func(s *Spec) { s.Class = 0 }, func(s *Spec) { s.Class = 5 }, func(s *Spec) { s.Priority = 11 }},
		"gpus": {
			func(s *Spec) { s.GPUs = math.MaxUint32 }, func(s *Spec) { s.GPUs = 7 },
			func(s *Spec) { *s = withoutGPUs(); s.GPUModel = "H200" }, func(s *Spec) { *s = withoutGPUs(); s.GPUMemoryMB = 1 },
			func(s *Spec) { *s = withoutGPUs(); s.IdleStop = time.Hour },
		},
		"cpus":              {func(s *Spec) { *s = withoutGPUs(); s.CPUs = 0 }, func(s *Spec) { *s = withoutGPUs(); s.CPUs = MaxCPUs + 1 }},
		"host_memory_gb":    {func(s *Spec) { *s = withoutGPUs(); s.MemoryMB = 0 }},
		"min_gpus":          {func(s *Spec) { *s = withoutGPUs(); s.MinGPUs = 1 }},
		"nodes":             {func(s *Spec) { s.Nodes = MaxRanks + 1 }},
		"max_retries":       {func(s *Spec) { s.MaxRetries = MaxRetries + 1 }},
		"time_limit":        {func(s *Spec) { s.TimeLimit = -1 }, func(s *Spec) { s.TimeLimit = math.MaxInt64 }},
		"grace":             {func(s *Spec) { s.Grace = 2 * time.Hour }},
		"checkpoint_grace":  {func(s *Spec) { s.CheckpointGrace = -time.Second }},
		"on_lost":           {func(s *Spec) { s.OnLost = 0 }},
		"disconnect_grace":  {func(s *Spec) { s.DisconnectGrace = 29 * time.Second }, func(s *Spec) { s.Grace = 5 * time.Minute }},
		"stop_signal":       {func(s *Spec) { s.StopSignal = "term" }},
		"checkpoint_signal": {func(s *Spec) { s.CheckpointSignal = "USR1; rm" }},
	} {
		for i, change := range breaks {
			s := good()
			change(&s)
			err := s.Validate()
			if p, is := errors.AsType[*Problem](err); !is || p.Field != field {
				t.Errorf("%s %d: got %v", field, i, err)
			}
		}
	}
}

// A job that holds needs no time between its fence and its lease's end, for it
// has no fence.
func TestAHoldingJobMayHaveALongGrace(t *testing.T) {
	s := good()
	s.OnLost, s.Grace = OnLostHold, time.Hour
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

// The lease's times follow the protocol: K is the least of 30 s and a third of T,
// M the greatest of 5 s and a fiftieth, and the leader waits T(1+4ρ)+M.
func TestFreezeFollowsTheProtocol(t *testing.T) {
	for _, v := range []struct{ t, kill, margin, lost time.Duration }{
		{30 * time.Second, 10 * time.Second, 5 * time.Second, 35*time.Second + 120*time.Millisecond},
		{300 * time.Second, 30 * time.Second, 6 * time.Second, 307*time.Second + 200*time.Millisecond},
		{24 * time.Hour, 30 * time.Second, 1728 * time.Second, 24*time.Hour + 1728*time.Second + 345600*time.Millisecond},
	} {
		s := good()
		s.DisconnectGrace = v.t
		f := s.Freeze()
		if f.Kill != v.kill || f.Margin != v.margin || f.LostAfter() != v.lost {
			t.Errorf("T %s: K %s, M %s, lost after %s; want %s, %s, %s", v.t, f.Kill, f.Margin, f.LostAfter(), v.kill, v.margin, v.lost)
		}
		if f.FenceLead() < f.Kill || f.FenceLead() < f.Grace+f.CheckpointGrace {
			t.Errorf("T %s: the fence leads by %s only", v.t, f.FenceLead())
		}
	}
}

// Rows are comparable values: readers cannot change the state.
func TestTimesAndKeysAreRowSafe(t *testing.T) {
	for _, row := range []any{
		Job{},
		Task{},
		Attempt{},
		Rank{},
		Node{},
		Lease{},
		GPU{},
		Slot{},
		Claim{},
		NodeUse{},
		Settings{},
		Peer{},
		Limit{},
		Usage{},
		Request{},
		Allocation{},
		Event{},
		Blob{},
		Sketch{},
	} {
		if !reflect.TypeOf(row).Comparable() {
			t.Errorf("%T cannot be compared", row)
		}
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 5, time.FixedZone("x", 3600))
	if got := TimeOf(at).Time(); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("%s came back as %s", at, got)
	}
	if TimeOf(time.Time{}) != 0 || !Time(0).Time().IsZero() {
		t.Error("never is not 0")
	}
}

// Every member of an enum has a name of its own, and no other number has one.
func TestEnumsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := ReasonStartDeadline; r <= ReasonConfirmedDead; r++ {
		if s := r.String(); s == "unknown" || seen[s] {
			t.Errorf("reason %d is called %q", r, s)
		}
		seen[r.String()] = true
	}
	for _, s := range []string{Reason(99).String(), TaskState(9).String(), Code(9999).String(), Owner(9).String()} {
		if s != "unknown" {
			t.Errorf("a number without a meaning is called %q", s)
		}
	}
	for c, s := range codeNames {
		if c.String() != s || s == "" {
			t.Errorf("code %d is called %q", c, c.String())
		}
	}
}

// A later reason overrules an earlier one, cancel overrules all stops.
func TestCancelOverrules(t *testing.T) {
	for r := ReasonNone; r < ReasonCancel; r++ {
		if !ReasonCancel.Outranks(r) || r.Outranks(ReasonCancel) {
			t.Errorf("cancel does not overrule %s", r)
		}
	}
}

// A gang of more nodes than GPUs cannot be requested, but may occur in damaged bytes.
func TestFewerGPUsThanNodes(t *testing.T) {
	s := Spec{GPUs: 1, Nodes: 3, MinGPUs: 1}
	if got := s.Least(); got != 1 {
		t.Errorf("it takes %d", got)
	}
}

func withoutGPUs() Spec {
	s := good()
	s.GPUs, s.CPUs, s.MemoryMB = 0, 4, 16_000
	return s
}

// A job without GPUs is valid with cores and memory, on one node or several, and holds them on each.
func TestAJobWithoutGPUs(t *testing.T) {
	s := withoutGPUs()
	if err := s.Validate(); err != nil {
		t.Fatalf("refused: %v", err)
	}
	if s.Holds() != (Room{4, 16_000}) || !s.Takes(0, 2) || s.Takes(0, 1) || s.Takes(1, 2) || s.Shape().CPUs != 4 {
		t.Errorf("it holds %+v, has the shape %+v", s.Holds(), s.Shape())
	}
	s.Nodes = 0
	if !s.Takes(0, 1) || s.Takes(0, 2) {
		t.Error("without a number of nodes it takes one")
	}
	if g := good(); g.Holds() != (Room{}) || g.Shape().CPUs != 0 {
		t.Errorf("a job with GPUs holds %+v", g.Holds())
	}
}

// Jobs without GPUs may hold all of a node without GPUs, and CPUShare percent of others.
func TestRoomFor(t *testing.T) {
	for _, v := range []struct {
		node  Node
		gpus  uint32
		share uint32
		want  Room
	}{
		{Node{CPUs: 64, MemoryMB: 1000}, 0, 25, Room{64, 1000}},
		{Node{CPUs: 64, MemoryMB: 1000}, 0, 0, Room{64, 1000}},
		{Node{CPUs: 64, MemoryMB: 1000}, 8, 25, Room{16, 250}},
		{Node{CPUs: 64, MemoryMB: 1000}, 8, 0, Room{}},
		{Node{CPUs: 64, MemoryMB: 1000}, 8, 100, Room{64, 1000}},
		{Node{CPUs: 2, MemoryMB: 1000}, 1, 25, Room{1, 250}},
		{Node{CPUs: MaxCPUs, MemoryMB: math.MaxUint32}, 1, 100, Room{MaxCPUs, math.MaxUint32}},
		{Node{MemoryMB: 1000}, 0, 25, Room{}},
		{Node{CPUs: 64}, 0, 25, Room{}},
	} {
		tuning := Tuning{CPUShare: v.share}
		if got := tuning.RoomFor(&v.node, v.gpus); got != v.want {
			t.Errorf("of %d cores and %d MB with %d GPUs at %d %%: got %+v, want %+v", v.node.CPUs, v.node.MemoryMB, v.gpus, v.share, got, v.want)
		}
	}
	if d := (Defaults{}); d.MemoryPer(8) != 16_000 || (&Defaults{MemoryPerCPU: 500}).MemoryPer(3) != 1500 {
		t.Errorf("got %d MB for 8 cores", d.MemoryPer(8))
	}
}
