package command

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

var update = flag.Bool("update", false, "write golden files and append to the lock on field numbers")

// filler sets every field of a value to something that differs from its zero, so
// that a golden example shows every field number.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("s" + string(rune('a'+f.n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int32:
		v.SetInt(1 + f.n%5)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(1 + f.n%3))
	default:
	}
}

// examples has one body of every kind with every field set; what filling does not
// make valid is set by hand.
func examples() []Body {
	var out []Body
	for k := range Kind(200) {
		if b := k.Fresh(); b != nil {
			(&filler{n: int64(k)}).fill(reflect.ValueOf(b).Elem())
			mend(b)
			out = append(out, b)
		}
	}
	return out
}

// secret is one that notices are signed with.
var secret = model.NewHookSecret([32]byte{1, 2, 3})

func mend(b Body) {
	switch b := b.(type) {
	case *Bootstrap:
		b.Retention.Age, b.Tuning, b.Pools.Mode, b.Notify.Secret = time.Hour, model.DefaultTuning(), model.PoolHybrid, secret
		b.Defaults.IdleStop, b.Defaults.CheckpointInterval, b.Defaults.Commands = time.Hour, 10*time.Minute, model.AudienceAll
		b.Limits = []model.LimitValue{
			{Of: model.LimitQueued, Value: 1000},
			{Of: model.LimitUserGPUs, Value: 8},
			{Of: model.LimitRunTime, Value: int64(48 * time.Hour)},
		}
	case *Submit:
		b.Env, b.SubmitEnv = []string{"A=1", "B=2"}, []string{"BASH_FUNC_module%%=() {  eval 1;\n}", "HOME=/users/ann"}
		s := &b.Spec
		s.GPUs, s.Nodes, s.WorkDir = 8, 2, "/data"
		s.DisconnectGrace, s.Grace, s.CheckpointGrace = 10*time.Minute, 30*time.Second, time.Minute
		s.Constraint, s.Nodelist, s.Exclude = "!spot,zone=a", "n1,n2", "n3"
		s.Placement, s.MinGPUs = "spread", 4
		s.StopSignal, s.CheckpointSignal, s.WarnSignal = "INT", "USR1", "USR2"
		s.RetryOn, s.CheckpointInterval, s.CheckpointDir = "75,137", time.Hour, "/data/checkpoints"
		s.WarnBefore, s.Attached, s.IdleStop, s.Umask = 5*time.Minute, time.Minute, 30*time.Minute, "0027"
		b.Stdin, b.Tasks, s.Array, s.Sweep, s.Begin, s.Deadline = "aGVsbG8=", 2, "0-1", "lr=1e-3,1e-4", 1_790_000_000_000_000_000, 1_790_000_100_000_000_000
		s.Notify, s.WebhookURL = model.JobNotices(), "https://example.com/hook"
		b.After = []dependency.After{
			{Job: 12, Kind: dependency.AfterOK},
			{Job: 13, Kind: dependency.AfterBegin, Any: true, Delay: 5 * time.Minute},
		}
	case *Cancel:
		b.Task, b.Tasks = model.AllTasks, "3,7-9"
	case *Hold:
		b.Task, b.Tasks = model.AllTasks, "3,7-9"
	case *Release:
		b.Task, b.Tasks = model.AllTasks, "3,7-9"
	case *Requeue:
		b.Task, b.Tasks = model.AllTasks, "3,7-9"
	case *Extend:
		b.By = 0 // the other way to write it
	case *SetGPUMode:
		b.Mode = model.ModeDraining
	case *Book:
		b.Booking = model.Booking{
			Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}, GPUs: 16, Model: "H200",
			Nodes: "n1 n2", Start: 1_790_000_000_000_000_000, End: 1_790_003_600_000_000_000, Note: "course",
		}
	case *SetBookingCaps:
		b.Caps.Ahead, b.Caps.Longest = time.Hour, time.Hour
	case *Place:
		placements(b.Ranks)
	case *Grant:
		placements([]Placement{b.Placement})
	case *Allocate:
		b.Constraint, b.Nodelist, b.Exclude, b.Webhook = "zone=a", "n1,n2", "n3", "http://your-service:8080/gpu-allocated"
	case *SetNodeLabels:
		b.Changes = "spot-,zone=a"
	case *Register:
		b.Address, b.Labels = "10.0.0.7:7070", "ssd,zone=a"
		devices(b.Devices)
		reports(b.Reports)
	case *Inventory:
		devices(b.Devices)
	case *Report:
		reports(b.Reports)
	case *ImportJobs:
		mendImport(b)
	default:
		mendLimits(b)
	}
}

// mendImport makes two jobs, of which the later is an array that waits for the other.
func mendImport(b *ImportJobs) {
	of := &Submit{}
	(&filler{n: 20}).fill(reflect.ValueOf(of).Elem())
	mend(of)
	b.Texts = []string{"#!/bin/sh\n", "A=1\x00B=2", "aGVsbG8="}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		j.ID, j.Spec, j.Script, j.Env, j.Stdin, j.SubmitEnv, j.Tasks = model.JobID(12+5*i), of.Spec, 1, 2, 3, 2, 2
		j.Spec.Held, j.Held, j.After, j.Submitted = false, "1", nil, 1_790_000_000_000_000_000
	}
	b.Jobs[1].After = []dependency.After{{Job: 12, Kind: dependency.AfterOK}}
	b.Jobs[0].Spec.Held, b.Jobs[0].Held = true, ""
}

// mendAdopt makes one attempt of a job that was lost.
func mendAdopt(b *Adopt) {
	of := &Submit{}
	(&filler{n: 20}).fill(reflect.ValueOf(of).Elem())
	mend(of)
	b.Texts = []string{"#!/bin/sh\n", "A=1\x00B=2", "aGVsbG8="}
	b.Job = ImportedJob{ID: 12, Spec: of.Spec, Script: 1, Env: 2, Stdin: 3, SubmitEnv: 2, Tasks: 1}
	b.Job.Spec.Array, b.Job.Spec.Sweep = "", ""
	b.Attempts, b.Placed = b.Attempts[:1], b.Placed[:1]
	b.Attempts[0].Attempt = model.AttemptKey{Job: 12, N: 2}
	placements(b.Attempts[0].Ranks)
}

// mendLimits mends what is about limits and shares, webhooks, and the cluster as a whole.
func mendLimits(b Body) {
	alice := model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}
	switch b := b.(type) {
	case *SetPriority:
		b.Before = 0 // the other way to write it
	case *Adopt:
		mendAdopt(b)
	case *SetWebhook:
		b.Webhook = outbox.Webhook{
			ID: "wh_1", Scope: alice, URL: "https://example.com/hook", Events: model.AllNotices(), Secret: secret,
			Template: `{"text": {{json .type}}}`, Note: "the team's channel",
		}
	case *MakeToken:
		b.Role, b.Network, b.Hosts = model.RolePeer, "10.1.2.0/24", "head.example.org,10.1.2.3"
	case *RecordCertificate:
		b.Member.Role, b.Issued, b.Expires = model.RoleAgent, 1_790_000_000_000_000_000, 1_797_776_000_000_000_000
	case *RevokeCertificate:
		b.Member.Role = model.RolePeer
	case *ConfirmTrust:
		b.Member.Role = model.RoleAgent
	case *BeginRotation:
		b.Rotation, b.Former, b.Next, b.Link = membership.RotationAuthority, "MAAA", "MAAB", "MAAC"
	case *LockRestart:
		b.For = 10 * time.Minute
	case *SetNotify:
		b.Notify = model.Notify{Secret: secret, Backlog: 1000, Allow: "*.example.com,10.0.0.0/8"}
	case *SetPeer:
		b.Peer.RaftAddress, b.Peer.APIAddress = "10.0.0.1:7000", "p1.example.org:10000"
	case *SetRetention:
		b.Retention.Age = time.Hour
	case *SetTuning:
		b.Tuning = model.DefaultTuning()
		b.Tuning.NoPreemption, b.Tuning.Placement = true, model.StrategySpread
	case *AdjustPolicy:
		b.Policy = "fair_share"
		b.Tuning = []model.TuningValue{{Name: "half_life", Value: "72h0m0s"}, {Name: "depth", Value: "5"}}
		b.Limits = []model.LimitValue{{Of: model.LimitLive, Value: 8}}
	case *SetDefaults:
		b.Defaults.IdleStop, b.Defaults.CheckpointInterval = time.Hour, 10*time.Minute
		b.Defaults.Commands = model.AudienceAll
	case *SetWeight:
		b.Weight.Scope = model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}
	case *SetLimit:
		b.Limit.Scope = alice
		b.Limit.RunTime, b.Limit.Period, b.Limit.Over = 4*time.Hour, 24*time.Hour, model.OverLower
		b.Limit.UserGPUs = 0 // the cluster's alone, which owns no GPUs
	case *AdjustLimit:
		b.Scope = alice
		b.Set = []model.LimitValue{{Of: model.LimitGPUs, Value: 8}, {Of: model.LimitQueued, Value: model.Unlimited}}
	}
}

func placements(list []Placement) {
	for i := range list {
		list[i].Node = model.NodeID("n" + string(rune('0'+i)))
		for j := range list[i].Slots {
			list[i].Slots[j].GPU = model.GPUID("GPU-" + string(rune('0'+i)) + string(rune('0'+j)))
		}
	}
}

func devices(list []model.Device) {
	for i := range list {
		list[i].ID = model.GPUID("GPU-" + string(rune('0'+i)))
		list[i].Health = model.HealthDegraded
	}
}

func reports(list []model.Progress) {
	for i := range list {
		list[i].Phase, list[i].Address = model.RankPhase(int(model.RankRunning)+i), "10.0.0.7"
		list[i].Exit.Idle, list[i].Exit.Watched = 1, 2
	}
}

// TestGoldenBodies: the bytes of every kind are those of the golden files, and
// they read back as what was written, for ever.
func TestGoldenBodies(t *testing.T) {
	if got, want := len(examples()), len(Kinds()); got != want {
		t.Fatalf("%d examples of %d kinds", got, want)
	}
	for _, b := range examples() {
		path := filepath.Join("testdata", "golden", b.Kind().String()+".txt")
		c, err := New("user:alice", b)
		if err != nil {
			t.Errorf("%s: %v", b.Kind(), err)
			continue
		}
		c, err = c.WithRequest("request-1")
		if err != nil {
			t.Fatal(err)
		}
		data, err := Encode(1_790_000_000_000_000_000, "p1", []Command{c})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, path, data)
		e, err := Decode(data)
		if err != nil || e.Commands[0].Err != nil {
			t.Errorf("%s: %v %v", b.Kind(), err, e.Commands)
			continue
		}
		if got := e.Commands[0]; !reflect.DeepEqual(got.Body, b) || got.Actor != "user:alice" || got.RequestID != "request-1" {
			t.Errorf("%s came back as %+v, was %+v", b.Kind(), got.Body, b)
		}
	}
}

// golden compares with a file, which -update makes if it is missing; an existing one stands for logs on disks
// and is not changed.
func golden(t *testing.T, path string, data []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(wrapped(data)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v (make it with -update)", err)
	}
	if got := wrapped(data); got != string(want) {
		t.Errorf("%s: an example is encoded otherwise than before, logs on disks could not be read:\n%s\nwas\n%s", path, got, want)
	}
}

func wrapped(data []byte) string {
	var b strings.Builder
	for s := hex.EncodeToString(data); s != ""; {
		n := min(96, len(s))
		b.WriteString(s[:n] + "\n")
		s = s[n:]
	}
	return b.String()
}
