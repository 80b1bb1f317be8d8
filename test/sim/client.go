package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// deed is a request of a user, and what came of it.
type deed struct {
	actor, request string
	kind           command.Kind
	job            string // name of the job, of a submission
	result         command.Result
	acked          bool
}

// user is someone who uses the cluster by way of any peer. A request that is not
// answered, or whose outcome is unknown, is sent again under the same id.
type user struct {
	w     *World
	name  string
	rng   *rand.Rand
	calls caller
	net   *simnet.Host
	count int
	jobs  []model.JobID
}

func newUser(w *World, name string, stream uint64) *user {
	host := w.net.Host(name)
	u := &user{w: w, name: name, rng: newRNG(w.Seed, stream), net: host}
	u.calls = caller{client: raftnet.NewClient(host, name), peers: w.apiAddresses}
	u.calls.turns[methodPropose] = u.rng.IntN(64)
	return u
}

func (u *user) close() {
	_ = u.calls.client.Close()
	u.net.Crash()
}

// do has a command carried out, however often it takes to ask; the deed is not
// acknowledged if the context ends first.
func (u *user) do(ctx context.Context, job string, body command.Body) *deed {
	u.count++
	d := &deed{actor: "user:" + u.name, request: fmt.Sprintf("%s-%d", u.name, u.count), kind: body.Kind(), job: job}
	c, err := command.New(d.actor, body)
	if err == nil {
		c, err = c.WithRequest(d.request)
	}
	data, err2 := encodeOne(c)
	if err = errors.Join(err, err2); err != nil {
		u.w.trace.Break(BreachDefect, "a user's %s is not valid: %v", body.Kind(), err)
		return d
	}
	for ctx.Err() == nil {
		if u.try(ctx, d, data) {
			u.w.remember(d)
			return d
		}
		u.calls.turns[methodPropose]++
		sleep(ctx, 100*time.Millisecond)
	}
	return d
}

func (u *user) try(ctx context.Context, d *deed, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := u.calls.call(ctx, u.calls.turns[methodPropose], methodPropose, data)
	var p proposal
	if err != nil || cbor.Unmarshal(answer, &p) != nil {
		return false
	}
	if c := p.Result.Code; c == model.CodeNotBootstrapped || c == model.CodeClock {
		return false // the cluster has just been founded, or its leader's clock is wrong: nothing was done
	}
	d.result, d.acked = p.Result, true
	return true
}

// remember keeps an acknowledged deed.
func (w *World) remember(d *deed) {
	w.trace.Note("%s %s %s: %s job %s %s", d.request, d.kind, d.job, d.result.Code, d.result.Job, d.result.Detail)
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	w.shared.acks = append(w.shared.acks, d)
}

// plainJob is a job that asks for little and takes a second.
var plainJob = command.Submit{Spec: model.Spec{
	User: "user", Class: model.ClassNormal, Command: behavior{Run: time.Second}.command(), GPUs: 1, OnLost: model.OnLostRequeue,
	DisconnectGrace: model.MinDisconnectGrace,
}, Tasks: 1}

// submit queues a job under a name of its own.
func (u *user) submit(ctx context.Context, like *command.Submit) *deed {
	job := *like
	job.Spec.User = u.name
	job.Spec.Name = fmt.Sprintf("job-%s-%d", u.name, u.count+1)
	d := u.do(ctx, job.Spec.Name, &job)
	if d.acked && d.result.OK() {
		u.jobs = append(u.jobs, d.result.Job)
	}
	return d
}

func (u *user) setMode(ctx context.Context, n model.NodeID, m model.NodeMode) {
	u.do(ctx, "", &command.SetNodeMode{Node: n, Mode: m})
}

func (u *user) release(ctx context.Context, job model.JobID) {
	u.do(ctx, "", &command.Release{Job: job, Task: command.AllTasks})
}

// work uses the cluster at random until the context ends.
func (u *user) work(ctx context.Context) {
	defer u.close()
	for sleep(ctx, time.Duration(500+u.rng.IntN(6500))*time.Millisecond) {
		u.act(ctx)
	}
}

// act does one thing that users do.
func (u *user) act(ctx context.Context) {
	dice := u.rng.IntN(100)
	if len(u.jobs) == 0 || dice < 60 {
		u.submit(ctx, u.randomJob())
		return
	}
	job := u.jobs[u.rng.IntN(len(u.jobs))]
	switch {
	case dice < 72:
		u.do(ctx, "", &command.Cancel{Job: job, Task: command.AllTasks})
	case dice < 78:
		u.do(ctx, "", &command.SetPriority{Job: job, Class: model.Class(1 + u.rng.IntN(4)), Priority: 5}) //nolint:gosec // small
	case dice < 83:
		u.do(ctx, "", &command.Hold{Job: job, Task: command.AllTasks})
	case dice < 90:
		u.release(ctx, job)
	case dice < 94:
		u.do(ctx, "", &command.Requeue{Job: job, Task: command.AllTasks})
	default:
		node := model.NodeID(fmt.Sprintf("n%d", 1+u.rng.IntN(u.w.Nodes)))
		mode := []model.NodeMode{model.ModeOpen, model.ModeOpen, model.ModeDraining, model.ModeCordoned}[u.rng.IntN(4)]
		u.setMode(ctx, node, mode)
	}
}

// randomJob draws a job that fits the cluster.
func (u *user) randomJob() *command.Submit {
	ms := func(least, most int) time.Duration {
		return time.Duration(least+u.rng.IntN(most-least)) * time.Millisecond
	}
	does := behavior{Run: ms(500, 16_000), IgnoreSig: u.rng.IntN(5) == 0, KillLag: ms(0, 1500)}
	if u.rng.IntN(6) == 0 {
		does.Code = 3
	}
	if u.rng.IntN(6) == 0 {
		does.Fork = ms(500, 8000)
	}
	if u.rng.IntN(6) == 0 {
		does.Failures = 1
	}
	s := model.Spec{
		Class: model.Class(1 + u.rng.IntN(4)), GPUs: 1, //nolint:gosec // small
		OnLost:          []model.OnLost{model.OnLostRequeue, model.OnLostRequeue, model.OnLostHold, model.OnLostFail}[u.rng.IntN(4)],
		DisconnectGrace: model.MinDisconnectGrace, MaxRetries: uint32(u.rng.IntN(3)), //nolint:gosec // small
	}
	if u.rng.IntN(3) == 0 {
		s.DisconnectGrace, s.Grace = 40*time.Second, ms(1000, 5000)
	}
	if u.rng.IntN(8) == 0 {
		s.TimeLimit = ms(1000, 8000)
	}
	tasks := uint32(1)
	switch u.rng.IntN(6) {
	case 0:
		s.GPUs = uint32(u.w.GPUs) //nolint:gosec // small
	case 1:
		s.GPUs, s.Nodes = 2, 2
	case 2:
		tasks = 3
	}
	s.Command = does.command()
	return &command.Submit{Spec: s, Tasks: tasks}
}
