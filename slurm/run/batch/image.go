package batch

import (
	"context"

	"github.com/berth-gpu/berth/slurm/run/contain"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// enter returns what starts the script: the node, or a container for the image that the job asks for. leave is to be called when the script
// has ended. stopped reports whether the stop signal came meanwhile.
// say is for messages about the image.
func (r *rank) enter(ctx context.Context, say func(string)) (starter process.Starter, leave func(), stopped bool, err error) {
	o := r.file.Request.Container
	if !o.Given() {
		return r.host, func() {}, false, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		container *contain.Container
		err       error
	}
	opened := make(chan result, 1)
	go func() {
		c, err := r.containers.Open(ctx, o, r.file.WorkDir, say)
		opened <- result{c, err}
	}()
	for {
		select {
		case s := <-r.signals:
			if s == r.stop { // others are for a script that runs
				stopped = true
				cancel()
			}
		case got := <-opened:
			if got.err != nil {
				return nil, nil, stopped, got.err
			}
			if stopped {
				got.container.Close()
			}
			return got.container, got.container.Close, stopped, nil
		}
	}
}
