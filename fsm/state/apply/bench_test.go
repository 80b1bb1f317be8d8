package apply

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
)

// The benchmarks stand on a state of benchJobs queued jobs of one line each. Their
// budgets, on one core of a small machine: a submit 15 µs in entries of 32, a
// snapshot 1 s, a restore 2 s, 2.5 KB a job.
const (
	benchJobs  = 100_000
	benchBatch = 32
)

func mustNew(tb tester, b command.Body) command.Command {
	tb.Helper()
	c, err := command.New("user:alice", b)
	if err != nil {
		tb.Fatalf("a %s command: %v", b.Kind(), err)
	}
	return c
}

func oneLine(n int) *command.Submit {
	return &command.Submit{Tasks: 1, Spec: model.Spec{
		Name: "train", User: fmt.Sprintf("user%d", n%50), Project: "vision", Class: model.ClassNormal, Priority: 5,
		Command: fmt.Sprintf("python train.py --config base.yaml --seed %d", n), GPUs: 1, OnLost: model.OnLostRequeue,
		DisconnectGrace: 5 * time.Minute, Grace: 30 * time.Second, TimeLimit: time.Hour,
	}}
}

// runner applies commands as entries with rising indexes.
type runner struct {
	tb tester
	s  state.State
	at model.Time
}

func newRunner(tb tester) *runner {
	r := &runner{tb: tb, at: genEpoch}
	r.run(mustNew(tb, &command.Bootstrap{
		Incarnation: model.Incarnation{1}, Level: 1, Running: true, Policy: "fcfs", Retention: model.Retention{Jobs: 1, Age: time.Hour},
	}))
	return r
}

func (r *runner) meta() state.Meta {
	r.at = r.at.Add(time.Millisecond)
	return state.Meta{Index: r.s.Index + 1, Term: 1, At: r.at, By: "p1", Hash: model.Hash{byte(r.s.Index)}}
}

// run applies one entry, in which every command must be carried out.
func (r *runner) run(commands ...command.Command) []command.Result {
	r.tb.Helper()
	next, results, changes := Apply(r.s, r.meta(), commands)
	for i := range results {
		if !results[i].OK() || len(changes.Panics) > 0 {
			r.tb.Fatalf("%s: %s %s", commands[i].Kind(), results[i].Code, results[i].Detail)
		}
	}
	r.s = next
	return results
}

func (r *runner) node(n, gpus int) model.NodeID {
	id := model.NodeID(fmt.Sprintf("n%d", n))
	b := &command.Register{Node: id, Machine: "m" + string(id), Boot: "b", Lineage: "l", Session: "s", CPUs: 64}
	for i := range gpus {
		b.Devices = append(b.Devices, model.Device{
			ID: gpuID(id, i), Index: uint32(i), Model: "H200", MemoryMB: 141_000, Health: model.HealthHealthy, Idle: true,
		})
	}
	r.run(mustNew(r.tb, b))
	return id
}

func queued(tb tester, jobs int) *runner {
	r := newRunner(tb)
	var batch []command.Command
	for i := range jobs {
		batch = append(batch, mustNew(tb, oneLine(i)))
		if len(batch) == benchBatch || i == jobs-1 {
			r.run(batch...)
			batch = batch[:0]
		}
	}
	return r
}

// perCommand returns what reports the price of one command: by the clock, and in
// processor time of all threads, which other work on the machine disturbs less.
func perCommand(b *testing.B, per int) (report func()) {
	begun := cpuTime(b)
	return func() {
		n := float64(b.N * per)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/command")
		b.ReportMetric(float64(cpuTime(b)-begun)/n, "cpu-ns/command")
	}
}

func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkSubmit(b *testing.B) {
	r := queued(b, benchJobs)
	batch := make([]command.Command, benchBatch)
	for i := range batch {
		batch[i] = mustNew(b, oneLine(i))
	}
	b.ReportAllocs()
	report := perCommand(b, benchBatch)
	for b.Loop() {
		r.run(batch...)
	}
	report()
}

func BenchmarkRenew(b *testing.B) {
	r := newRunner(b)
	const nodes = 200
	body := &command.Renew{}
	for n := range nodes {
		body.Renewals = append(body.Renewals, command.Renewal{Node: r.node(n, 8), Incarnation: model.Incarnation{1}, Epoch: 1})
	}
	b.ReportAllocs()
	report := perCommand(b, nodes)
	for b.Loop() {
		for i := range body.Renewals {
			body.Renewals[i].Seq++
		}
		c := command.Command{Actor: "peer:p1", Body: body}
		c = withKind(b, c)
		r.run(c)
	}
	report()
}

// withKind gives a command whose body changes between uses its kind, without the
// price of encoding it.
func withKind(tb tester, c command.Command) command.Command {
	k := mustNew(tb, &command.Renew{Renewals: make([]command.Renewal, 1)})
	k.Actor, k.Body = c.Actor, c.Body
	return k
}

func BenchmarkPlaceToCompletion(b *testing.B) {
	r := queued(b, benchJobs)
	id := r.node(1, 1)
	slot := model.SlotKey{GPU: gpuID(id, 0)}
	job := model.JobID(0)
	b.ReportAllocs()
	report := perCommand(b, 5)
	for b.Loop() {
		if job++; job > benchJobs {
			r.run(mustNew(b, oneLine(0)))
		}
		rank := model.RankKey{Job: job, N: 1}
		report := func(p model.Progress, c ...model.Cleaned) {
			p.Rank = rank
			r.run(mustNew(b, &command.Report{
				Node: id, Incarnation: model.Incarnation{1}, Epoch: 1,
				Reports: []model.Progress{p}, Cleaned: c,
			}))
		}
		r.run(mustNew(b, &command.Place{
			Attempt: rank.Attempt(), Decided: r.s.Index,
			Ranks: []command.Placement{{Node: id, Epoch: 1, Slots: []model.SlotKey{slot}}},
		}))
		report(model.Progress{Phase: model.RankTaken})
		report(model.Progress{Phase: model.RankRunning})
		report(model.Progress{Phase: model.RankExited, Exit: model.Exit{Ran: time.Minute}})
		report(model.Progress{Phase: model.RankExited}, model.Cleaned{Slot: slot, Rank: rank})
	}
	report()
}

func BenchmarkSnapshot(b *testing.B) {
	r := queued(b, benchJobs)
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := snapshot.Write(&r.s, &out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len())/benchJobs, "bytes/job")
}

func BenchmarkRestore(b *testing.B) {
	r := queued(b, benchJobs)
	var out bytes.Buffer
	if err := snapshot.Write(&r.s, &out); err != nil {
		b.Fatal(err)
	}
	r.s = state.State{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := snapshot.Read(bytes.NewReader(out.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryPerJob(b *testing.B) {
	var per float64
	for b.Loop() {
		before := heap()
		r := queued(b, benchJobs)
		per = float64(heap()-before) / benchJobs
		runtime.KeepAlive(r)
	}
	b.ReportMetric(per, "B/job")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkDecode(b *testing.B) {
	batch := make([]command.Command, benchBatch)
	for i := range batch {
		batch[i] = mustNew(b, oneLine(i))
	}
	data, err := command.Encode(genEpoch, "p1", batch)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	report := perCommand(b, benchBatch)
	for b.Loop() {
		if _, err := command.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
	report()
}
