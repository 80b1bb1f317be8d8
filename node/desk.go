package node

import (
	"context"
	"sync"
)

// desk is where an agent's goroutine takes what was done beside it.
type desk struct {
	ctx   context.Context
	inbox chan func()
	work  sync.WaitGroup
}

func newDesk(ctx context.Context) *desk { return &desk{ctx: ctx, inbox: make(chan func(), 256)} }

// beside runs work on a goroutine of its own. What it returns runs on the agent's.
func (d *desk) beside(work func() func()) {
	d.work.Go(func() {
		then := work()
		select {
		case d.inbox <- then:
		case <-d.ctx.Done():
		}
	})
}

// core is what all parts of an agent share.
type core struct {
	Config
	*desk
}
