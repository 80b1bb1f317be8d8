package nodeapi

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/tunnel"
)

const patience = time.Minute

// shelf is a folder with a file for each stream.
type shelf struct {
	dir string

	mu    sync.Mutex
	ended bool

	tunnels tunnel.Sessions
}

func (s *shelf) Open(r model.RankKey, stream Stream) (*os.File, error) {
	if r != (model.RankKey{Job: 7, N: 1}) {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(s.dir, string(stream)))
}

func (s *shelf) Ended(model.RankKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *shelf) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (s *shelf) write(t *testing.T, stream Stream, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.dir, string(stream)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

func serve(t *testing.T) (*shelf, string) {
	t.Helper()
	s := &shelf{dir: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := New(Sources{Logs: s, History: gauge{}, Steps: s}, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, "http://" + l.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	status, body, _ := request(t, url)
	return status, body
}

// request returns an answer with its headers.
func request(t *testing.T, url string) (int, string, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body), answer.Header
}

func TestLogs(t *testing.T) {
	s, url := serve(t)
	s.write(t, Stdout, "one\ntwo\n\nthree")
	s.write(t, Stderr, "bad\n")
	for query, want := range map[string]string{
		"job=7&attempt=1":                      "one\ntwo\n\nthree",
		"job=7&task=0&attempt=1&rank=0&tail=1": "three",
		"job=7&attempt=1&tail=0":               "",
		"job=7&attempt=1&tail=2":               "\nthree",
		"job=7&attempt=1&tail=3":               "two\n\nthree",
		"job=7&attempt=1&tail=4":               "one\ntwo\n\nthree",
		"job=7&attempt=1&tail=99":              "one\ntwo\n\nthree",
		"job=7&attempt=1&stream=stderr&tail=1": "bad\n",
	} {
		if code, body := get(t, url+PathLogs+"?"+query); code != http.StatusOK || body != want {
			t.Errorf("%s: %d %q, want %q", query, code, body, want)
		}
	}
	if code, body := get(t, url+PathHealth); code != http.StatusOK || body != "ok\n" {
		t.Errorf("health: %d %q", code, body)
	}
}

// Only numbers and known words are accepted; nothing of a request goes into a path.
func TestHostileQueries(t *testing.T) {
	_, url := serve(t)
	for query, want := range map[string]int{
		"":                                    422,
		"job=7":                               422,
		"job=../../etc/passwd&attempt=1":      422,
		"job=7&attempt=1&stream=../rank.json": 422,
		"job=7&attempt=1&stream=":             422,
		"job=-1&attempt=1":                    422,
		"job=18446744073709551616&attempt=1":  422,
		"job=7&attempt=4294967296":            422,
		"job=7&attempt=1&tail=1e9":            422,
		"job=7&job=8&attempt=1":               422,
		"job=7&attempt=1&path=/etc":           422,
		"job=7&attempt=1&follow=perhaps":      422,
		"job=8&attempt=1":                     404,
		"job=7&attempt=1":                     404,
		"job=%00&attempt=1":                   422,
		"job=٧&attempt=1":                     422,
	} {
		if code, body := get(t, url+PathLogs+"?"+query); code != want || !strings.Contains(body, `"code"`) {
			t.Errorf("%q: %d %s, want %d", query, code, body, want)
		}
	}
}

// Follow sends what comes, and ends when the rank has ended and all is sent, also
// when the rank had not begun to write.
func TestFollow(t *testing.T) {
	s, url := serve(t)
	body := make(chan string, 1)
	go func() {
		_, text := get(t, url+PathLogs+"?job=7&attempt=1&follow=true")
		body <- text
	}()
	want := ""
	for i := range 5 {
		line := fmt.Sprintf("line %d\n", i)
		s.write(t, Stdout, line)
		want += line
	}
	s.end()
	select {
	case got := <-body:
		if got != want {
			t.Errorf("followed %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// A dropped part of a long output is reported, not sent as zeros.
func TestHole(t *testing.T) {
	s, url := serve(t)
	const page = 64 << 10
	s.write(t, Stdout, strings.Repeat("a", page)+strings.Repeat("b", 2*page)+strings.Repeat("c", page))
	f, err := os.OpenFile(filepath.Join(s.dir, "stdout"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, page, 2*page); err != nil {
		t.Skipf("needs a file system that can punch holes into files: %v", err)
	}
	_ = f.Close()
	want := strings.Repeat("a", page) + fmt.Sprintf("\n[berth: %d bytes of output were not kept]\n", 2*page) + strings.Repeat("c", page)
	if _, got := get(t, url+PathLogs+"?job=7&attempt=1"); got != want {
		t.Errorf("%d bytes, want %d: %.80q", len(got), len(want), got[min(len(got), page):])
	}
}
