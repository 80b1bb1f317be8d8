package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// followTasks shows the output of all tasks of an array, each line with the number of its task,
// until all have ended. Of the lines that are there at the beginning only the last ones are shown,
// tail for each task; nil: all.
func followTasks(ctx context.Context, api *client.Client, id string, streams []stream, tail *int, say io.Writer) error {
	a := &arrayFollower{
		api: api, id: id, streams: streams, tail: tail, say: say, begun: map[int64]bool{},
		places: make(chan struct{}, tasksAtOnce),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := a.watch(ctx)
	if err != nil {
		cancel()
	}
	a.work.Wait()
	err = errors.Join(append(a.failed, err)...)
	if err == nil && a.missing {
		return errMissing
	}
	return err
}

// tasksAtOnce is the most tasks that are followed at the same time; the others wait for their turn,
// and lose no output.
const tasksAtOnce = 64

// arrayFollower follows the tasks of an array.
type arrayFollower struct {
	api     *client.Client
	id      string
	streams []stream
	tail    *int
	say     io.Writer
	begun   map[int64]bool // tasks that are or were followed
	places  chan struct{}

	work    sync.WaitGroup
	lines   sync.Mutex // serializes the lines of tasks
	errs    sync.Mutex // guards failed and missing
	failed  []error
	missing bool // a part of the output could not be read
}

// watch follows each task from its start on, until the array has ended.
func (a *arrayFollower) watch(ctx context.Context) error {
	_, err := cmdline.WatchJob(ctx, a.api, a.id, func(d *wire.Detail) (bool, error) {
		list, err := a.api.Lists().Tasks(ctx, a.id, client.TasksQuery{})
		if err != nil {
			if passing(err) && ctx.Err() == nil {
				return false, nil
			}
			return false, err
		}
		for i := range list.Tasks {
			if t := &list.Tasks[i]; t.Attempts > 0 && !a.begun[t.Index] {
				a.begun[t.Index] = true
				a.work.Go(func() { a.task(ctx, t.Index) })
			}
		}
		if cmdline.Terminal(d.State) {
			return true, nil
		}
		return false, cmdline.Pause(ctx, taskListEvery)
	})
	return err
}

// taskListEvery is how long a list of an array's tasks is used.
const taskListEvery = 500 * time.Millisecond

// task shows the output of one task.
func (a *arrayFollower) task(ctx context.Context, index int64) {
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	case <-ctx.Done():
		return
	}
	streams := make([]stream, len(a.streams))
	for i, s := range a.streams {
		s.to = &lined{to: s.to, head: fmt.Sprintf("[%d] ", index), turns: &a.lines}
		streams[i] = s
	}
	f := follower{api: a.api, id: a.id, task: strconv.FormatInt(index, 10), tail: a.tail, say: a.say}
	err := f.all(ctx, streams)
	for i := range streams {
		if line, is := streams[i].to.(*lined); is {
			if failed := line.flush(); failed != nil {
				err = failed
			}
		}
	}
	a.errs.Lock()
	defer a.errs.Unlock()
	if errors.Is(err, errMissing) {
		a.missing = true
	} else if err != nil {
		a.failed = append(a.failed, err)
	}
}
