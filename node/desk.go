package node

import (
	"context"
	"sync"
)

// desk collects the results of work that runs outside the agent's goroutine.
type desk struct {
	ctx   context.Context
	inbox chan func()
	work  sync.WaitGroup
}

func newDesk(ctx context.Context) *desk { return &desk{ctx: ctx, inbox: make(chan func(), 256)} }

// beside runs work in a goroutine of its own, and the function that work returns in the agent's.
func (d *desk) beside(work func() func()) {
	d.work.Go(func() {
		then := work()
		select {
		case d.inbox <- then:
		case <-d.ctx.Done():
		}
	})
}

// core is shared by all parts of an agent.
type core struct {
	Config
	*desk
}
