package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Times of asking a node again that does not answer, such as while its agent is restarted.
const (
	againFirst = 200 * time.Millisecond
	againMost  = 2 * time.Second
	agentAway  = 20 * time.Second // until the answer has begun, and after the end of the rank
)

// relay is a log that a reader follows, as text. It is asked for in bytes, so that it goes on behind the last one when the
// connection to the node has ended.
type relay struct {
	outputs

	w     http.ResponseWriter
	key   model.RankKey
	in    logInput
	begun bool      // the answer
	next  int64     // offset in the output behind what was passed on
	away  time.Time // since when the node has not answered, and no longer has to; zero: it may take its time
}

// relay passes on a log until its rank has ended, over restarts of the agent on its node, and reports whether the answer has
// begun.
func (a outputs) relay(ctx context.Context, w http.ResponseWriter, k model.RankKey, in *logInput) (begun bool, err error) {
	l := &relay{outputs: a, w: w, key: k, in: *in}
	l.in.exact = url.Values{"bytes": {"true"}}
	for pause := againFirst; ; pause = min(2*pause, againMost) {
		before := l.next
		done, err := l.part(ctx)
		if done || !l.waits(err) {
			return l.begun, err
		}
		if l.next > before {
			pause = againFirst
		}
		if l.next > before && err == nil { // there may be more already
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return l.begun, ctx.Err()
		}
	}
}

// waits reports whether the node is asked again after an answer that ended with that error.
func (l *relay) waits(err error) bool {
	var reader *readerError
	var status *statusError
	switch s := l.api.State(); {
	case err == nil:
		l.away = time.Time{}
		return true
	case errors.As(err, &reader), errors.As(err, &status):
		return false
	case writes(s.Ranks.Get(l.key)):
		if l.begun {
			l.away = time.Time{}
			return true
		}
	case !l.begun:
		return false // the end of the output may be kept here
	}
	if l.away.IsZero() {
		l.away = time.Now()
	}
	return time.Since(l.away) < agentAway
}

// writes reports whether a rank may write output.
func writes(r model.Rank, found bool) bool { return found && !r.Phase.Ended() }

// part asks the node once and passes on what it answers with; done: nothing more will come.
func (l *relay) part(ctx context.Context) (done bool, err error) {
	s := l.api.State()
	answer, err := l.ask(ctx, l.key, nodeAddress(&s, l.key), &l.in)
	if status, is := errors.AsType[*statusError](err); is && l.begun && status.status == http.StatusNotFound {
		return true, nil // what there was has been passed on
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = answer.Body.Close() }()
	at, exact := offsetIn(answer.Header, wire.HeaderLogOffset)
	if !l.begun {
		open(l.w, l.key)
		l.begun, l.next = true, at
	}
	if at > l.next {
		note := fmt.Sprintf("\n[berth: %d bytes of output were not kept]\n", at-l.next)
		if _, err := stream(l.w, strings.NewReader(note)); err != nil {
			return false, err
		}
	}
	n, err := stream(l.w, answer.Body)
	l.next = at + n
	l.in.lines = -1
	l.in.exact.Set("offset", strconv.FormatInt(l.next, 10))
	if !exact { // a node that does not say where the output stands
		return true, err
	}
	size, _ := offsetIn(answer.Header, wire.HeaderLogSize)
	ended := answer.Header.Get(wire.HeaderLogEnded) == "true"
	return err == nil && ended && l.next >= size, err
}

// offsetIn returns an offset that a node states in a header.
func offsetIn(h http.Header, name string) (n int64, found bool) {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	return n, err == nil
}
