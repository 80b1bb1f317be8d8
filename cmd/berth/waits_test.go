package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/childtest"
)

// waitingPeer answers as a peer at which job 17 runs until the client goes. It says when a client
// has begun to wait.
func waitingPeer(t *testing.T) (address string, waits <-chan struct{}) {
	begun := make(chan struct{}, 64)
	wait := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("POST /queue/submit", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Submitted{Success: true, JobID: "17", Job: wire.Job{ID: "17", State: "running"}})
	})
	mux.HandleFunc("GET /jobs/17", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("wait") {
			wait(w, r)
			return
		}
		w.Header().Set(wire.HeaderIndex, "5")
		answer(w, &wire.Detail{Job: wire.Job{ID: "17", State: "running", Attempts: 0}})
	})
	mux.HandleFunc("GET /events", wait)
	mux.HandleFunc("GET /queue", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Queue{})
		begun <- struct{}{}
	})
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &wire.Nodes{})
		begun <- struct{}{}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), begun
}

// A command that waits ends at SIGINT and SIGTERM with the exit code that shells have for it,
// without an error message, and says that the job goes on.
func TestInterruptedWaits(t *testing.T) {
	for _, v := range []struct {
		line   string
		signal syscall.Signal
		says   string
	}{
		{"submit --wait -- sleep 30", syscall.SIGINT, "Job 17 goes on; to end it: berth cancel 17"},
		{"submit --wait -- sleep 30", syscall.SIGTERM, "Job 17 goes on; to end it: berth cancel 17"},
		{"submit --follow -- sleep 30", syscall.SIGINT, "Job 17 goes on; to end it: berth cancel 17"},
		{"logs -f 17", syscall.SIGINT, "Job 17 goes on; to end it: berth cancel 17"},
		{"events -f", syscall.SIGINT, ""},
		{"queue -w", syscall.SIGTERM, ""},
		{"top", syscall.SIGINT, ""},
	} {
		t.Run(fmt.Sprintf("%s, %s", v.line, v.signal), func(t *testing.T) {
			t.Parallel()
			address, waits := waitingPeer(t)
			words := strings.Fields(v.line)
			c := childtest.Start(t, append([]string{words[0], "--address", address}, words[1:]...)...)
			<-waits
			c.Signal(t, v.signal)
			if code := c.Exit(t); code != 128+int(v.signal) {
				t.Errorf("exit code %d", code)
			}
			text := strings.Join(c.Lines(), "\n")
			if !strings.Contains(text, v.says) || strings.Contains(text, "berth: ") || strings.Contains(text, "context") {
				t.Errorf("said %s", text)
			}
		})
	}
}

// A command that waits for a pipe without a writer ends at a signal.
func TestAPipeWithoutAWriter(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := childtest.Start(t, "submit", "--address", "127.0.0.1:1", pipe)
	c.Line(t, "Reading "+pipe+", which is a pipe")
	c.Signal(t, syscall.SIGTERM)
	if code := c.Exit(t); code != 143 {
		t.Errorf("exit code %d: %v", code, c.Lines())
	}
}
