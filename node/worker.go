package node

import (
	"context"
	"sync"
	"time"
)

// worker collects the results of work that runs outside the agent's goroutine.
type worker struct {
	ctx   context.Context
	inbox chan func()
	work  sync.WaitGroup
}

func newWorker(ctx context.Context) *worker { return &worker{ctx: ctx, inbox: make(chan func(), 256)} }

// background runs work in a goroutine of its own, and the function that work returns in the agent's.
func (d *worker) background(work func() func()) {
	d.work.Go(func() {
		then := work()
		select {
		case d.inbox <- then:
		case <-d.ctx.Done():
		}
	})
}

// after has the agent look at its work once a pause is over.
func (d *worker) after(pause time.Duration) {
	time.AfterFunc(pause, func() {
		select {
		case d.inbox <- func() {}:
		case <-d.ctx.Done():
		}
	})
}

// core is shared by all parts of an agent.
type core struct {
	Config
	*worker
}
