package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// engine is a measured peer, one of three.
type engine interface {
	status() status
	workload(name string, callers int) (proposer, error)
	close() error
}

// engines are the kinds of peers.
var engines = map[string]func(place) (engine, error){"berth": startBerth, "bare": startBare}

// child serves its parent until that closes the connection.
type child struct {
	e    engine
	work sync.WaitGroup

	mu   sync.Mutex
	out  *json.Encoder
	calm context.CancelFunc // ends the probe under way
}

// serve answers requests, each in a goroutine of its own, and ends when there are
// no more.
func serve(e engine, in io.Reader, out io.Writer) error {
	c := &child{e: e, out: json.NewEncoder(out), calm: func() {}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var q request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		c.work.Go(func() { c.answer(&q) })
	}
	c.end()
	c.work.Wait()
	return lines.Err()
}

func (c *child) answer(q *request) {
	a, err := c.do(q)
	a.ID = q.ID
	if err != nil {
		a.Error = err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(a) // the parent has ended
}

func (c *child) do(q *request) (reply, error) {
	switch q.Op {
	case opStatus:
		s := c.e.status()
		s.CPU = processorTime()
		return reply{Status: &s}, nil
	case opLoad:
		return c.load(q.Load)
	case opProbe:
		return c.probe()
	case opCalm:
		c.end()
		return reply{}, nil
	}
	return reply{}, fmt.Errorf("there is no operation %q", q.Op)
}

func (c *child) load(spec *loadSpec) (reply, error) {
	propose, err := c.e.workload(spec.Workload, spec.Callers)
	if err != nil {
		return reply{}, err
	}
	var r loadResult
	err = profiled(spec.Profile, func() { r = drive(spec, propose) })
	return reply{Load: &r}, err
}

// probeEvery is how long a probe that was refused waits before the next.
const probeEvery = 2 * time.Millisecond

// probe proposes until a command is committed here, and returns when that was.
func (c *child) probe() (reply, error) {
	propose, err := c.e.workload(loadTouch, 1)
	if err != nil {
		return reply{}, err
	}
	ctx := c.begin()
	for {
		if err := propose(0); err == nil {
			return reply{At: monotonic()}, nil
		}
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
}

// begin ends the probe under way and makes room for the next.
func (c *child) begin() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm()
	ctx, cancel := context.WithCancel(context.Background())
	c.calm = cancel
	return ctx
}

func (c *child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calm()
}

// monotonic returns CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// processorTime returns the processor time of this process, in all its threads.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
