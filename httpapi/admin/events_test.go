package admin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// watcher is a follower of events in a test.
type watcher struct {
	t     testing.TB
	lines *bufio.Scanner
	stop  func()
}

func follow(s *apitest.Site, query string, headers ...string) *watcher {
	s.T.Helper()
	ctx, cancel := context.WithCancel(s.T.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/events"+query, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
		s.T.Fatalf("it answers %d, %v", got.StatusCode, got.Header)
	}
	f := &watcher{s.T, bufio.NewScanner(got.Body), func() { cancel(); _ = got.Body.Close() }}
	s.T.Cleanup(f.stop)
	f.lines.Scan() // the greeting: from here on nothing is missed
	return f
}

// next is the next event of the stream.
func (f *watcher) next() *wire.Notice {
	f.t.Helper()
	for f.lines.Scan() {
		if data, is := bytes.CutPrefix(f.lines.Bytes(), []byte("data: ")); is {
			e := &wire.Notice{}
			if err := json.Unmarshal(data, e); err != nil {
				f.t.Fatal(err)
			}
			return e
		}
	}
	f.t.Fatalf("the stream has ended: %v", f.lines.Err())
	return nil
}

func types(t *testing.T, r *apitest.Reply) (out []string) {
	t.Helper()
	for line := range strings.Lines(string(r.Body)) {
		if data, is := strings.CutPrefix(line, "data: "); is {
			e := &wire.Notice{}
			if err := json.Unmarshal([]byte(data), e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Type+" "+e.Target)
		}
	}
	return out
}

func TestFollowingEvents(t *testing.T) {
	s := apitest.New(t)
	all, mine := follow(s, ""), follow(s, "?types=canceled,job.queued&user=bob")
	s.With(func(c *statetest.Cluster) { c.Node("n1", 1) })
	s.Submit(`{"command":"x","user":"ann"}`)
	s.Submit(`{"command":"x","user":"bob"}`)
	s.Do(http.MethodDelete, "/queue/2?note=enough", "")
	var seen []string
	for range 4 {
		e := all.next()
		seen = append(seen, e.Type+" "+e.Target+" "+e.Result)
	}
	if want := []string{"node.registered node n1 test", "job.queued job 1 ", "job.queued job 2 ", "job.canceled job 2 canceled: enough"}; !slices.Equal(seen, want) {
		t.Errorf("followed %q, want %q", seen, want)
	}
	if a, b := mine.next(), mine.next(); a.Type != "job.queued" || a.Data.JobID != "2" || b.Type != "job.canceled" {
		t.Errorf("bob's are %+v and %+v", a, b)
	}
}

// Events are selected like records of the audit trail: by actor, with or without the
// kind of them, and by what it was about, with its parts.
func TestEventsOfActorsAndTargets(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 1)
		c.Actor = "user:ann"
		c.Submit(1, func(b *command.Submit) { b.Spec.Array, b.Tasks = "0-1", 2 })
		c.Actor = "service:n1"
		c.Submit(2, func(*command.Submit) {})
		c.Do(&command.Cancel{Job: 1, Task: 1})
	})
	for query, want := range map[string][]string{
		"actor=user:ann":                  {"job.queued job 1"},
		"actor=ann":                       {"job.queued job 1"},
		"actor=n1&types=job.*":            {"job.queued job 2", "job.canceled job 1 task 1"},
		"actor=an":                        nil,
		"target=job%201":                  {"job.queued job 1", "job.canceled job 1 task 1"},
		"target=job%201%20task%201":       {"job.canceled job 1 task 1"},
		"target=job":                      {"job.queued job 1", "job.queued job 2", "job.canceled job 1 task 1"},
		"target=node%20n1":                {"node.registered node n1"},
		"target=job%201&actor=service:n1": {"job.canceled job 1 task 1"},
		"target=n1":                       nil,
	} {
		if got := types(t, s.Do(http.MethodGet, "/events?once=true&last=10&"+query, "")); !slices.Equal(got, want) {
			t.Errorf("%s gives %q, want %q", query, got, want)
		}
	}
}

// A follower that comes back gets what it missed, or a reset if that is not kept.
func TestResumingEvents(t *testing.T) {
	s := apitest.New(t)
	first := follow(s, "")
	for range 5 {
		s.Submit(`{"command":"x"}`)
	}
	id := first.next().ID
	if next := follow(s, "", "Last-Event-ID", id).next(); next.Data.JobID != "2" {
		t.Errorf("after %s comes %+v", id, next)
	}
	if got := types(t, s.Do(http.MethodGet, "/events?once=true&after="+id, "")); len(got) != 4 {
		t.Errorf("after %s come %v", id, got)
	}
	if got := types(t, s.Do(http.MethodGet, "/events?once=true&last=2", "")); !slices.Equal(got, []string{"job.queued job 4", "job.queued job 5"}) {
		t.Errorf("the last two are %v", got)
	}
	if got := types(t, s.Do(http.MethodGet, "/events?once=true&last=9&job=3", "")); !slices.Equal(got, []string{"job.queued job 3"}) {
		t.Errorf("those of job 3 are %v", got)
	}
	other := "00000000" + id[8:]
	for range 9 {
		s.Feed.Put([]model.Notice{{Index: 1000, Ordinal: 1, Kind: model.NoticeNodeBack, Detail: strings.Repeat("x", 200_000)}})
	}
	for _, gone := range []string{other, id} {
		r := s.Do(http.MethodGet, "/events?once=true", "", "Last-Event-ID", gone)
		if got := types(t, r); !slices.Equal(got, []string{"reset events"}) || !strings.Contains(string(r.Body), "event: reset\n") {
			t.Errorf("after %s come %v", gone, got)
		}
	}
	s.Do(http.MethodGet, "/events", "", "Last-Event-ID", "yesterday").About("Last-Event-ID")
	s.Do(http.MethodGet, "/events?types=job.exploded", "").About("types")
	s.Do(http.MethodGet, "/events?job=x", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/events?last=-1", "").About("last")
}

// A follower that names an event that is still to come has it from elsewhere than this cluster's log,
// and gets a reset; but not where this peer only lags behind another.
func TestResumingAfterWhatNeverWas(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x"}`)
	id := follow(s, "?last=1").next().ID
	life, _, _ := strings.Cut(id, "-")
	future := fmt.Sprintf("%s-%d-1", life, s.State().Index+1)
	for _, ask := range []string{future, life + "-18446744073709551615-1"} {
		r := s.Do(http.MethodGet, "/events?once=true", "", "Last-Event-ID", ask)
		if got := types(t, r); !slices.Equal(got, []string{"reset events"}) {
			t.Errorf("after %s come %q", ask, got)
		}
		if got := follow(s, "", "Last-Event-ID", ask).next(); got.Type != wire.EventReset || got.ID != id {
			t.Errorf("after %s comes %+v", ask, got)
		}
	}
	old := s.State()
	s.Submit(`{"command":"x"}`)
	s.API.Peer.Reader = &apitest.CatchingUp{Behind: apitest.Behind{Peer: s.Peer, Old: old}}
	newest := follow(s, "?last=1").next().ID
	if got := types(t, s.Do(http.MethodGet, "/events?once=true", "", "Last-Event-ID", newest)); len(got) != 0 {
		t.Errorf("a peer that lags behind gives %q", got)
	}
	s.Behind = &problem.Fault{Code: wire.CodeNoLeader, Err: errors.New("there is no leader")}
	s.Do(http.MethodGet, "/events?once=true", "", "Last-Event-ID", future).Problem(http.StatusServiceUnavailable, wire.CodeNoLeader)
}

// A follower that does not read is cut off, and no other goroutine waits for it meanwhile.
func TestASlowFollowerIsCutOff(t *testing.T) {
	s := apitest.New(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if tcp, is := conn.(*net.TCPConn); !is || tcp.SetReadBuffer(16<<10) != nil {
		t.Fatal("its buffer cannot be made small")
	}
	fmt.Fprint(conn, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("it answers %q, %v", line, err)
	}
	quick := follow(s, "")
	const rounds, each, size = 60, 20, 20_000 // far more than the feed and the sockets hold
	for i := range uint64(rounds) {
		for j := range uint32(each) {
			s.Feed.Put([]model.Notice{{Index: 1000 + i, Ordinal: j + 1, Kind: model.NoticeNodeBack, Detail: strings.Repeat("x", size)}})
		}
		for range each {
			if e := quick.next(); e.Type != "node.back" {
				t.Fatalf("the other follower gets %+v", e)
			}
		}
	}
	n, err := io.Copy(io.Discard, reader)
	if n >= rounds*each*size {
		t.Errorf("it was not cut off: it got %d bytes, %v", n, err)
	}
}

// A stream ends with its peer.
func TestStreamsEndWithTheirPeer(t *testing.T) {
	s := apitest.New(t)
	f := follow(s, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f.lines.Scan() {
			continue
		}
	}()
	if err := s.API.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
}

// BenchmarkFollowers measures how far behind a thousand followers are: from an entry's
// making something known until each of them has read it, over loopback.
func BenchmarkFollowers(b *testing.B) {
	const many = 1000
	s := apitest.New(b)
	arrived := make(chan struct{}, many)
	for range many {
		f := follow(s, "")
		go func() {
			for f.lines.Scan() {
				if bytes.HasPrefix(f.lines.Bytes(), []byte("data: ")) {
					arrived <- struct{}{}
				}
			}
		}()
	}
	var took []time.Duration
	index := uint64(1000)
	for b.Loop() {
		index++
		began := time.Now()
		s.Feed.Put([]model.Notice{{Index: index, Ordinal: 1, Kind: model.NoticeJobQueued, Job: 1, Name: "train", User: "alice"}})
		for range many {
			<-arrived
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "ms-last-p50")
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "ms-last-worst")
}
