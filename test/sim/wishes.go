package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/httpapi/wire"
)

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
	switch {
	case len(u.jobs) == 0 || dice < 56:
		u.submit(ctx, u.randomJob())
		return
	case dice < 60:
		u.book(ctx, u.randomBooking())
		return
	}
	job := u.jobs[u.rng.IntN(len(u.jobs))]
	switch {
	case dice < 72:
		u.cancel(ctx, job)
	case dice < 78:
		u.setPriority(ctx, job, 1+u.rng.IntN(4))
	case dice < 83:
		u.command(ctx, &command.Hold{Job: job, Task: model.AllTasks})
	case dice < 90:
		u.release(ctx, job)
	case dice < 94:
		u.command(ctx, &command.Requeue{Job: job, Task: model.AllTasks})
	default:
		node := model.NodeID(fmt.Sprintf("n%d", 1+u.rng.IntN(u.w.Nodes)))
		mode := []model.NodeMode{model.ModeOpen, model.ModeOpen, model.ModeDraining, model.ModeCordoned}[u.rng.IntN(4)]
		u.setMode(ctx, node, mode)
	}
}

func (u *user) setMode(ctx context.Context, n model.NodeID, m model.NodeMode) {
	u.command(ctx, &command.SetNodeMode{Node: n, Mode: m})
}

func (u *user) release(ctx context.Context, job model.JobID) {
	u.command(ctx, &command.Release{Job: job, Task: model.AllTasks})
}

// plainJob is a job with few requirements that takes a second.
var plainJob = command.Submit{Spec: model.Spec{
	User: "user", Class: model.ClassNormal, Command: behavior{Run: time.Second}.command(), GPUs: 1, OnLost: model.OnLostRequeue,
	DisconnectGrace: model.MinDisconnectGrace,
}, Tasks: 1}

// randomJob draws a job that fits the cluster; one of eight has no GPUs.
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
		Class: model.Class(1 + u.rng.IntN(4)), GPUs: 1,
		OnLost:          []model.OnLost{model.OnLostRequeue, model.OnLostRequeue, model.OnLostHold, model.OnLostFail}[u.rng.IntN(4)],
		DisconnectGrace: model.MinDisconnectGrace, MaxRetries: uint32(u.rng.IntN(3)),
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
		s.GPUs = uint32(u.w.GPUs)
	case 1:
		s.GPUs, s.Nodes = 2, 2
		s.Lead = u.count%2 == 0
		does.Lead = s.Lead
	case 2:
		tasks = 3
	}
	c := &command.Submit{Spec: s, Tasks: tasks}
	does = u.restrict(c, does)
	if u.rng.IntN(8) == 0 {
		c.Spec.GPUs, c.Spec.MinGPUs, c.Spec.CPUs, c.Spec.MemoryMB = 0, 0, uint32(1+u.rng.IntN(8)), 1000
	}
	c.Spec.Command = does.command()
	return c
}

// owned is the project for whose jobs GPUs are reserved.
const owned = "owned"

// restrict adds to every other job a rule of where or when it runs, and returns its program's behavior then.
func (u *user) restrict(c *command.Submit, does behavior) behavior {
	s, soon := &c.Spec, func(least, most int) model.Time {
		return model.TimeOf(time.Now().Add(time.Duration(least+u.rng.IntN(most-least)) * time.Second).Truncate(time.Second))
	}
	switch u.rng.IntN(16) {
	case 0, 1:
		if len(u.jobs) > 0 {
			c.After = u.conditions()
		}
	case 2:
		s.Begin = soon(2, 20)
	case 3: // it ends for nothing else
		s.Deadline, does.Run, does.Failures = soon(8, 30), time.Hour, 0
	case 4:
		*s, c.Tasks = u.small(*s), 1
		s.Constraint = []string{"zone=a", "zone=b"}[u.rng.IntN(2)]
	case 5:
		*s, c.Tasks = u.small(*s), 1
		s.Exclude = fmt.Sprintf("n%d", 1+u.rng.IntN(u.w.Nodes))
	case 6:
		s.Nodes, s.GPUs, c.Tasks = 0, uint32(2*u.w.GPUs), 1
		s.MinGPUs = uint32(1 + u.rng.IntN(2*u.w.GPUs-1))
	case 7:
		*s, c.Tasks = u.small(*s), 4
		c.Throttle = uint32(1 + u.rng.IntN(2))
	}
	if u.rng.IntN(4) == 0 {
		s.Project = owned
	}
	return does
}

// conditions draws what a job waits for: one earlier job, or one of two.
func (u *user) conditions() (after []dependency.After) {
	either := u.rng.IntN(4) == 0
	for range 1 + u.rng.IntN(2) {
		a := dependency.After{Job: u.jobs[u.rng.IntN(len(u.jobs))], Kind: dependency.Kind(1 + u.rng.IntN(5)), Any: either}
		if n := len(after); n == 0 || a.Compare(after[n-1]) > 0 {
			after = append(after, a)
		}
	}
	return after
}

// small returns the spec of one GPU.
func (u *user) small(s model.Spec) model.Spec {
	s.Nodes, s.GPUs = 0, 1
	return s
}

// randomBooking draws GPUs that are soon reserved for a project, or a maintenance.
func (u *user) randomBooking() *model.Booking {
	start := time.Now().Add(time.Duration(2+u.rng.IntN(60)) * time.Second)
	b := &model.Booking{
		Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeProject, Name: owned}, Start: model.TimeOf(start),
		End: model.TimeOf(start.Add(time.Duration(5+u.rng.IntN(40)) * time.Second)),
	}
	node := fmt.Sprintf("n%d", 1+u.rng.IntN(u.w.Nodes))
	switch u.rng.IntN(3) {
	case 0:
		b.GPUs = uint32(1 + u.rng.IntN(u.w.GPUs))
	case 1:
		b.Nodes = node
	case 2:
		b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, node
	}
	return b
}

// book makes a booking, under a note of its own.
func (u *user) book(ctx context.Context, b *model.Booking) {
	b.Note = fmt.Sprintf("booking-%s-%d", u.name, u.count+1)
	u.command(ctx, &command.Book{Booking: *u.w.rules.book(b)})
}

// asked returns a submission as the API takes it.
func asked(c *command.Submit) *wire.Submit {
	s := &c.Spec
	job := &wire.Submit{
		User: s.User, Name: s.Name,
		Command: s.Command, GPUs: number(s.GPUs), Nodes: number(s.Nodes), Priority: number(s.Class), MaxRetries: number(s.MaxRetries),
		Hold: &s.Held, OnLost: s.OnLost.String(), DisconnectGrace: (*wire.Duration)(&s.DisconnectGrace),
		Grace: (*wire.Duration)(&s.Grace), Tasks: number(c.Tasks),
	}
	if s.WithoutGPUs() {
		job.GPUs, job.CPUs, job.HostMemory = new(int64(0)), number(s.CPUs), new(float64(s.MemoryMB)/1000)
	}
	if s.Lead {
		job.Lead = &s.Lead
	}
	if s.TimeLimit > 0 {
		job.TimeLimit = (*wire.Duration)(&s.TimeLimit)
	}
	job.Project, job.Constraint, job.MinGPUs, job.MaxRunning = s.Project, s.Constraint, number(s.MinGPUs), number(c.Throttle)
	if s.Exclude != "" {
		job.Exclude = []string{s.Exclude}
	}
	job.Dependencies = dependency.Texts(c.After)
	if s.Begin > 0 {
		job.Begin = s.Begin.Time().Format(time.RFC3339)
	}
	if s.Deadline > 0 {
		job.Deadline = s.Deadline.Time().Format(time.RFC3339)
	}
	return job
}

// number returns a number for the API, which takes an absent one for its default; so is 0, where none may be given.
func number[N ~uint8 | ~uint32](n N) *int64 {
	v := int64(n)
	if v == 0 {
		return nil
	}
	return &v
}
