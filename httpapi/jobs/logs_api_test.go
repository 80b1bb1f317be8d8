package jobs_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/jobs"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A log comes from the node as it is written, and ends when it ends there.
func TestALogIsPassedOn(t *testing.T) {
	s := apitest.New(t)
	asked, next := make(chan string, 1), make(chan string)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		for line := range next {
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer node.Close()
	apitest.Running(s, node.Listener.Addr().String())
	go func() { next <- "first\n" }()
	got, err := http.Get(s.URL + "/jobs/1/logs?follow=true&tail=5&stream=stderr") //nolint:noctx // it ends with its node
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if uri := <-asked; uri != "/node/logs?attempt=1&bytes=true&follow=true&job=1&rank=0&stream=stderr&tail=5&task=0" {
		t.Errorf("the node was asked %s", uri)
	}
	lines := bufio.NewReader(got.Body)
	if line, err := lines.ReadString('\n'); line != "first\n" || got.Header.Get(wire.HeaderSource) != jobs.SourceNode {
		t.Errorf("read %q %v: %v", line, got.Header, err)
	}
	next <- "second\n"
	if line, err := lines.ReadString('\n'); line != "second\n" {
		t.Errorf("read %q: %v", line, err)
	}
	close(next)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("then %q: %v", rest, err)
	}
}

// A log that is followed goes on behind the last byte when the agent of its node has been restarted, also while the first answer is
// awaited, and ends with its rank.
func TestALogOutlivesARestartOfTheAgent(t *testing.T) {
	s := apitest.New(t)
	var asked []string // by one request after the other
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("tail")+" "+r.URL.Query().Get("offset"))
		answer := func(offset, size int, ended bool, body string) {
			w.Header().Set(wire.HeaderLogOffset, strconv.Itoa(offset))
			w.Header().Set(wire.HeaderLogSize, strconv.Itoa(size))
			w.Header().Set(wire.HeaderLogEnded, strconv.FormatBool(ended))
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		switch len(asked) {
		case 2:
			answer(100, 106, false, "first\n")
		case 4: // a part was not kept
			answer(110, 117, false, "second\n")
			return
		case 5:
			answer(117, 117, true, "")
			return
		}
		panic(http.ErrAbortHandler)
	}))
	defer node.Close()
	apitest.Running(s, node.Listener.Addr().String())
	got, err := http.Get(s.URL + "/jobs/1/logs?follow=true&tail=1") //nolint:noctx // it ends with its node
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK || string(data) != "first\n\n[berth: 4 bytes of output were not kept]\nsecond\n" {
		t.Errorf("read %d %q, %v", got.StatusCode, data, err)
	}
	if want := []string{"1 ", "1 ", " 106", " 106", " 117"}; !slices.Equal(asked, want) {
		t.Errorf("the node was asked for %q, want %q", asked, want)
	}
}

// The node that is away leaves the end of the output, or nothing.
func TestTheLogOfANodeThatIsAway(t *testing.T) {
	s := apitest.New(t)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := gone.Addr().String()
	_ = gone.Close()
	apitest.Running(s, address)
	s.Do(http.MethodGet, "/jobs/1/logs", "").Problem(http.StatusBadGateway, wire.CodeUnreachable)
	s.Do(http.MethodGet, "/jobs/1/logs?attempt=2", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/1/logs?rank=3", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/9/logs", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/1/logs?stream=both", "").About("stream")
	s.Submit(`{"command":"x"}`).Into(new(wire.Submitted))
	s.Do(http.MethodGet, "/jobs/2/logs", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}

// A request for bytes is the node's to answer: its parameters and headers are passed on, and the end of the output that peers keep is no
// answer.
func TestALogInBytes(t *testing.T) {
	s := apitest.New(t)
	asked := make(chan string, 1)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		if r.URL.Query().Get("stream") == "stderr" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for i, name := range []string{wire.HeaderLogOffset, wire.HeaderLogSize, wire.HeaderLogNext} {
			w.Header().Set(name, strconv.Itoa(100+i))
		}
		w.Header().Set(wire.HeaderLogEnded, "true")
		_, _ = io.WriteString(w, "bytes")
	}))
	defer node.Close()
	apitest.Running(s, node.Listener.Addr().String())
	got, err := http.Get(s.URL + "/jobs/1/logs?offset=100&follow=true&limit_bytes=5") //nolint:noctx // the node answers at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if uri := <-asked; uri != "/node/logs?attempt=1&follow=true&job=1&limit_bytes=5&offset=100&rank=0&stream=stdout&task=0" {
		t.Errorf("the node was asked %s", uri)
	}
	for name, want := range map[string]string{
		wire.HeaderLogOffset: "100", wire.HeaderLogSize: "101", wire.HeaderLogNext: "102", wire.HeaderLogEnded: "true", wire.HeaderAttempt: "1",
	} {
		if have := got.Header.Get(name); have != want {
			t.Errorf("%s is %q, want %q", name, have, want)
		}
	}
	s.Do(http.MethodGet, "/jobs/1/logs?before=5&stream=stderr", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	<-asked
	for query, field := range map[string]string{
		"offset=1&tail=2": "offset", "before=2&offset=1": "offset", "before=2&follow=true": "before", "grep=a&follow=true": "grep", "grep=": "grep", "ignore_case=true": "ignore_case",
		"offset=-1": "offset", "limit_bytes=0": "limit_bytes", "limit_bytes=16777217": "limit_bytes",
	} {
		s.Do(http.MethodGet, "/jobs/1/logs?"+query, "").About(field)
	}
	node.Close()
	s.Do(http.MethodGet, "/jobs/1/logs?offset=0", "").Problem(http.StatusBadGateway, wire.CodeUnreachable)
}

// A log that breaks off does not look whole.
func TestALogThatBreaksOff(t *testing.T) {
	s := apitest.New(t)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer node.Close()
	apitest.Running(s, node.Listener.Addr().String())
	got, err := http.Get(s.URL + "/jobs/1/logs") //nolint:noctx // it ends with its node
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if data, err := io.ReadAll(got.Body); err == nil || string(data) != "first\n" || got.Header.Get(wire.HeaderSource) != jobs.SourceNode {
		t.Errorf("read %q %v: %v", data, got.Header, err)
	}
}
