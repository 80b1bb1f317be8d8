package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// follower shows the output of one attempt after the other.
type follower struct {
	api   *client.Client
	id    string
	task  string
	tail  *int      // only the last lines at the beginning; nil: all
	say   io.Writer // for messages that are not the job's output
	shown int64     // attempts that were shown to their end

	mu      sync.Mutex
	missing bool // a part of the output could not be read
}

// all copies a task's output of each attempt from its start to its end, until the task has ended;
// that of a gang line by line, each with its rank. After a broken stream it continues behind the
// last byte shown.
func (f *follower) all(ctx context.Context, streams []stream) error {
	_, err := cmdline.WatchTask(ctx, f.api, f.id, f.task, func(d *wire.Detail) (bool, error) {
		if f.tail != nil && f.shown == 0 { // the ends of earlier attempts are not wanted
			f.shown = max(0, d.Attempts-1)
		}
		for n := f.shown + 1; n <= d.Attempts; n++ {
			ranks, started := ranksOf(d, n)
			if !started {
				return cmdline.Terminal(d.State), nil
			}
			if err := f.attempt(ctx, n, forRanks(streams, ranks)); err != nil {
				return false, err
			}
			f.shown, f.tail = n, nil
		}
		return cmdline.Terminal(d.State), nil
	})
	if err == nil && f.missing {
		err = errMissing
	}
	return err
}

// attempt shows the streams of one attempt in parallel.
func (f *follower) attempt(ctx context.Context, n int64, streams []stream) error {
	errs := make([]error, len(streams))
	var work sync.WaitGroup
	for i := range streams {
		work.Go(func() { errs[i] = f.follow(ctx, n, &streams[i]) })
	}
	work.Wait()
	return errors.Join(errs...)
}

func (f *follower) follow(ctx context.Context, attempt int64, s *stream) error {
	for {
		err := f.copy(ctx, attempt, s)
		switch {
		case err == nil || isGone(err):
			if l, is := s.to.(*lined); is {
				return l.flush()
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return err
		}
		if err := cmdline.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// isGone reports whether an error means that no output will come, such as that of an attempt that
// never started.
func isGone(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Status == http.StatusNotFound
}

// copy shows the output behind the bytes that were shown. A nil error means that nothing more will come.
func (f *follower) copy(ctx context.Context, attempt int64, s *stream) error {
	for {
		q := client.LogQuery{Task: f.task, Attempt: attempt, Rank: s.rank, Follow: true, Stream: s.name, Bytes: true}
		if s.begun {
			q.Offset = &s.next
		} else {
			q.Tail = f.tail
		}
		l, err := f.api.Log(ctx, f.id, q)
		if unreachable(err) {
			return f.wait(ctx, attempt, s)
		}
		if err != nil {
			return err
		}
		s.away, s.ended, s.told = time.Time{}, time.Time{}, false
		if s.begun && l.Offset > s.next {
			_, err = fmt.Fprintf(output{s.to}, "\n[berth: %d bytes of output were not kept]\n", l.Offset-s.next)
		}
		s.begun, s.next = true, l.Offset
		var n int64
		if err == nil {
			n, err = io.Copy(output{s.to}, l.Body)
		}
		s.next += n
		_ = l.Body.Close() // nothing was written
		if err != nil || !l.Exact || n == 0 && l.Ended && s.next >= l.Size {
			return err
		}
		if n == 0 {
			if err := cmdline.Pause(ctx, time.Second); err != nil {
				return err
			}
		}
	}
}

// Times for which a node that cannot be reached is waited for.
const (
	agentRestarts = 20 * time.Second // after the end of the rank: the agent may only be restarted
	waitSilently  = 3 * time.Second
)

var (
	errAway    = errors.New("the node with the output cannot be reached") // passing
	errMissing = errors.New("a part of the output could not be read")
)

// unreachable reports whether an error says that the node with the output does not answer.
func unreachable(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Code == wire.CodeUnreachable
}

// wait decides what follows while the node with the output cannot be reached. As long as the rank runs, and some time longer, the node is
// asked again: errAway.
// Then the end of the output that the peers keep is shown.
func (f *follower) wait(ctx context.Context, attempt int64, s *stream) error {
	d, _, err := f.api.Job(ctx, f.id, client.JobQuery{Task: f.task})
	now := time.Now()
	switch {
	case err != nil:
		return err
	case s.away.IsZero():
		s.away = now
		return errAway
	}
	if !s.told && now.Sub(s.away) >= waitSilently {
		s.told = true
		fmt.Fprintf(f.say, "berth: the node with %s of job %s cannot be reached: waiting for it\n", s.name, f.id)
	}
	if runs(d, attempt, s.rank) {
		s.ended = time.Time{}
		return errAway
	}
	if s.ended.IsZero() {
		s.ended = now
	}
	if now.Sub(s.ended) < agentRestarts {
		return errAway
	}
	return f.copyEnd(ctx, attempt, s)
}

// runs reports whether a rank of a job may write output. Attempt 0 is the newest.
func runs(d *wire.Detail, attempt, rank int64) bool {
	for i := range d.History {
		a := &d.History[i]
		if a.Number != attempt && (attempt != 0 || a.Number != d.Attempts) {
			continue
		}
		for _, r := range a.Ranks {
			if r.Rank == rank {
				return a.EndedAt.IsZero() && !slices.Contains(endedPhases, r.Phase)
			}
		}
	}
	return false
}

// endedPhases are the phases of ranks that write no more.
var endedPhases = []string{model.RankExited.String(), model.RankNever.String(), model.RankLost.String()}

// copyEnd shows the end of the output that the peers keep of a rank that has ended, or says that there is none.
func (f *follower) copyEnd(ctx context.Context, attempt int64, s *stream) error {
	l, err := f.api.Log(ctx, f.id, client.LogQuery{Task: f.task, Attempt: attempt, Rank: s.rank, Stream: s.name, Tail: f.tail})
	if unreachable(err) {
		f.mu.Lock()
		f.missing = true
		f.mu.Unlock()
		fmt.Fprintf(f.say, "berth: %s of attempt %d of job %s is missing from byte %d on: its node cannot be reached; try later: berth logs %s\n", s.name, attempt, f.id, s.next, f.id)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = l.Body.Close() }()
	if !l.Kept {
		return errAway // it can be reached again
	}
	if s.begun {
		fmt.Fprintf(f.say, "berth: the node cannot be reached: the end of %s follows, which may repeat lines\n", s.name)
	}
	s.begun = true
	_, err = io.Copy(output{s.to}, l.Body)
	return err
}
