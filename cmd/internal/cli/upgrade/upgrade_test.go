package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestShow checks what berth cluster upgrade check prints.
func TestShow(t *testing.T) {
	t.Parallel()
	peer := func(name string) wire.UpgradeState {
		return wire.UpgradeState{
			Member: wire.Member{Role: "peer", Name: name}, Version: "v1.1.0", Level: 5, Up: true, CaughtUp: true, Back: true,
			Restart: true,
		}
	}
	u := &wire.Upgrade{Level: 4, Newest: 5, Tolerates: 1, Members: []wire.UpgradeState{peer("p1"), peer("p2")}}
	text := func() string {
		var out bytes.Buffer
		if err := show(&out, u); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {
			u.Hold = &wire.Hold{Next: 5, Until: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), Seconds: 3600}
		}, "Level 5 is held until 2026-11-28"},
		{func() {}, "for another 1:00:00;"},
		{func() { u.Hold.Seconds = 0 }, "and rises to 5 now"},
		{func() { u.Hold.Silent = []string{"p2"} }, "Level 5 is held until p2 reported"},
		{func() { u.Hold = nil }, "Level 5 needs the upgrade of all peers"},
		{func() { u.Level = 5 }, "level 5, the newest that its peers know"},
		{func() {}, "One more peer may be away"},
		{func() { u.Tolerates = 0 }, "While one more peer is away, the cluster stops"},
		{func() { u.Tolerates = -1 }, "The cluster has stopped"},
		{func() {
			u.Next = []wire.Member{{Role: "peer", Name: "p2"}, {Role: "node", Name: "n1"}}
			u.Members[1].Waits = "p1 is not up"
		}, "in this order: peer p2, node n1. The first has to wait: p1 is not up."},
		{func() { u.Blockers = []string{"peer p2 is not up"} }, "The feature level cannot be raised: peer p2 is not up."},
	} {
		if step.change(); !strings.Contains(text(), step.want) {
			t.Errorf("it prints %q, want %q", text(), step.want)
		}
	}
}

// fakePeer is a peer whose process can be restarted.
type fakePeer struct {
	mu     sync.Mutex
	began  time.Time
	refuse int // so many tries to take the lock
	old    bool
	asked  []string
	voting bool
	holder string
}

func (f *fakePeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.Path)
	refuse := func(status int, code, detail string) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.Header().Set(wire.HeaderVersion, "v1.0.0")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"title":"No","code":%q,"detail":%q}`, code, detail)
	}
	if f.old {
		refuse(http.StatusNotFound, "not_found", "there is no such path; /openapi.json lists them all")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var body wire.RestartLock
	if r.Method == http.MethodPost {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	switch r.URL.Path {
	case "/cluster/upgrade":
		_ = json.NewEncoder(w).Encode(&wire.Upgrade{AnsweredBy: "p1", Members: []wire.UpgradeState{
			{Member: wire.Member{Role: "peer", Name: "p1"}, Version: "v1.1.0", Up: true, CaughtUp: true, Voter: f.voting, StartedAt: f.began},
		}})
	case "/cluster/upgrade/lock":
		if f.refuse > 0 {
			f.refuse--
			refuse(http.StatusConflict, "conflict", "peer p2 restarts")
			return
		}
		f.holder = body.Key
		_, _ = w.Write([]byte(`{"success":true}`))
	case "/cluster/upgrade/unlock":
		if body.Key == f.holder {
			f.holder = ""
		}
		_, _ = w.Write([]byte(`{"success":true}`))
	}
}

// serve answers at a socket.
func serve(t *testing.T, f *fakePeer) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "admin.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	return path
}

// TestRestart checks that the peer is restarted under the lock, which is free afterwards.
func TestRestart(t *testing.T) {
	t.Parallel()
	f := &fakePeer{began: time.Unix(1, 0), voting: true, refuse: 1}
	path := serve(t, f)
	mark := filepath.Join(t.TempDir(), "restarted")
	out := &lines{on: func(line string) {
		if strings.HasPrefix(line, "Waiting for peer p1") { // the command has ended
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.holder == "" {
				t.Error("the peer was restarted without the lock")
			}
			f.began = time.Unix(2, 0)
		}
	}}
	r := &restarting{socket: path, command: "touch " + mark, wait: time.Minute, out: out}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holder != "" || !strings.Contains(out.all.String(), "peer p2 restarts") || !strings.Contains(out.all.String(), "Peer p1 is back with version v1.1.0.") {
		t.Errorf("the lock is %q's; it printed %s", f.holder, out.all.String())
	}
	if matches, _ := filepath.Glob(mark); len(matches) != 1 {
		t.Error("the command did not run")
	}
}

// lines notes what is printed.
type lines struct {
	all bytes.Buffer
	on  func(string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.on(string(p))
	return l.all.Write(p)
}

// TestNoRestart checks what keeps a peer from being restarted: it does not run, an older leader has no lock, the command
// fails.
func TestNoRestart(t *testing.T) {
	t.Parallel()
	none := func(string) {}
	out := &lines{on: none}
	r := &restarting{socket: filepath.Join(t.TempDir(), "none.sock"), command: "false", wait: time.Minute, out: out}
	if err := r.run(t.Context()); err != nil || !strings.Contains(out.all.String(), "nothing is to be restarted") {
		t.Errorf("without a peer: %v, %s", err, out.all.String())
	}
	f := &fakePeer{old: true}
	r = &restarting{socket: serve(t, f), command: "false", wait: time.Minute, out: &lines{on: none}}
	if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "without the lock for restarts") || len(f.asked) != 1 {
		t.Errorf("with an older peer: %v", err)
	}
	f = &fakePeer{voting: true}
	r = &restarting{socket: serve(t, f), command: "echo broken >&2; false", wait: time.Minute, out: &lines{on: none}}
	if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") || f.holder != "" {
		t.Errorf("with a command that fails: %v, the lock is %q's", err, f.holder)
	}
}
