// Package statetest makes legal states for tests.
//
// A [Cluster] holds a state, a log index and a clock, and changes the state by
// commands only, each in a log entry that is encoded and decoded as in a real
// log. What it builds is therefore a state that a cluster can be in:
//
//	c := statetest.New(t)
//	n := c.Node("n1", 8)
//	a := c.Place(c.Submit(4))
//	c.Start(a)
//	c.Exit(a, 0)
//	n.Clean()
//
// Each step also checks the invariants of the state and of the move that led to
// it, so that a test which only goes through the motions already tests something.
// Only tests import the package.
//
//berth:single
package statetest

import (
	"errors"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
)

// TB is the part of a test that a Cluster needs: *testing.T, *testing.B and *rapid.T have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Cluster is a state and the means to change it.
type Cluster struct {
	State state.State
	Now   model.Time // stamp of the next entry
	Actor string     // of the next commands

	Told func([]model.Notice) // receives the notices of each entry; nil: not called

	// Unchecked disables the checks, for states too large to be checked at every step.
	Unchecked bool

	tb TB
}

// Start is the clock of a new Cluster.
const Start = model.Time(1_800_000_000_000_000_000)

// New returns a bootstrapped cluster without nodes, whose orchestrator runs.
func New(tb TB) *Cluster {
	tb.Helper()
	c := Empty(tb)
	c.Do(&command.Bootstrap{
		Incarnation: Incarnation(1), Level: command.Level, Running: true, Policy: "fcfs",
		Retention: model.Retention{Jobs: 10_000, Age: 7 * 24 * time.Hour},
	})
	return c
}

// Empty returns a cluster before its first command.
func Empty(tb TB) *Cluster {
	return &Cluster{Now: Start, Actor: "user:alice", tb: tb}
}

// Incarnation returns the n-th of some different incarnations.
func Incarnation(n byte) model.Incarnation { return model.Incarnation{0: 0xbe, 15: n} }

// Try carries out one command and returns its result.
func (c *Cluster) Try(b command.Body) command.Result {
	c.tb.Helper()
	return c.Entry(c.Command(b))[0]
}

// Do carries out one command, which must succeed.
func (c *Cluster) Do(b command.Body) command.Result {
	c.tb.Helper()
	r := c.Try(b)
	if !r.OK() {
		c.tb.Fatalf("%s was refused: %s: %s", b.Kind(), r.Code, r.Detail)
	}
	return r
}

// Once carries out one command under a request id.
func (c *Cluster) Once(id string, b command.Body) command.Result {
	c.tb.Helper()
	cmd, err := c.Command(b).WithRequest(id)
	if err != nil {
		c.tb.Fatalf("request id %q: %v", id, err)
	}
	return c.Entry(cmd)[0]
}

// Command makes a command of a body.
func (c *Cluster) Command(b command.Body) command.Command {
	c.tb.Helper()
	cmd, err := command.New(c.Actor, b)
	if err != nil {
		c.tb.Fatalf("making a %s command: %v", b.Kind(), err)
	}
	return cmd
}

// Entry carries out commands as one log entry.
func (c *Cluster) Entry(commands ...command.Command) []command.Result {
	c.tb.Helper()
	data, err := command.Encode(c.Now, "p1", commands)
	if err != nil {
		c.tb.Fatalf("encoding an entry: %v", err)
	}
	return c.Log(data)
}

// Log applies the bytes of one log entry.
func (c *Cluster) Log(data []byte) []command.Result {
	c.tb.Helper()
	e, err := command.Decode(data)
	if err != nil {
		c.tb.Fatalf("decoding an entry: %v", err)
	}
	before := c.State
	m := state.Meta{Index: before.Index + 1, Term: 1, At: e.At, By: e.By, Hash: e.Hash}
	next, results, changes := apply.Apply(before, m, e.Commands)
	if len(changes.Panics) > 0 {
		c.tb.Fatalf("entry %d: commands %v panicked", m.Index, changes.Panics)
	}
	c.State = next
	if c.Told != nil {
		c.Told(changes.Notices)
	}
	if !c.Unchecked {
		c.check(&before, e.Commands)
	}
	return results
}

func (c *Cluster) check(before *state.State, commands []command.Command) {
	c.tb.Helper()
	move := check.Move
	if len(commands) == 1 {
		move = check.Step
	}
	if err := errors.Join(check.State(&c.State), move(before, &c.State)); err != nil {
		c.tb.Fatalf("after entry %d, which begins with %+v:\n%v", c.State.Index, commands[0].Body, err)
	}
}

// Wait advances the clock, however far.
func (c *Cluster) Wait(d time.Duration) {
	c.tb.Helper()
	c.Now = c.Now.Add(d)
	c.Do(&command.AdvanceClock{})
}
