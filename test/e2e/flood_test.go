package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	floodSize = flag.Int("flood.connections", 0, "how many idle and slow connections a peer is flooded with; 0: it is not")
	floodTime = flag.Duration("flood.time", 10*time.Second, "for how long others ask meanwhile")
)

const (
	floodOfEach = 2000 // connections from one address
	spareFiles  = 2000 // that this process needs in addition to the flood's
)

// flood is connections to one peer, half of which say nothing, and half of which send a
// header byte by byte. Each that is cut off is opened again.
type flood struct {
	at     string
	opened atomic.Int64
	failed atomic.Int64
}

// hold keeps so many connections from one address open until the context ends.
func (f *flood) hold(ctx context.Context, from net.IP, n int, full *sync.WaitGroup) {
	dial := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 5 * time.Second}
	conns := make([]net.Conn, n)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	step := time.NewTicker(time.Second)
	defer step.Stop()
	for round := 0; ctx.Err() == nil; round++ {
		for i := range conns {
			if ctx.Err() != nil {
				break
			}
			if conns[i] = f.alive(conns[i], i%2 == 1); conns[i] != nil {
				continue
			}
			conn, err := dial.DialContext(ctx, "tcp", f.at)
			if err != nil {
				f.failed.Add(1)
				continue
			}
			f.opened.Add(1)
			conns[i] = conn
			if i%2 == 1 {
				_, _ = io.WriteString(conn, "GET /queue HTTP/1.1\r\nHost: x\r\nX-Slow: ") // it may be cut off at once
			}
		}
		if round == 0 {
			full.Done()
		}
		select {
		case <-step.C:
		case <-ctx.Done():
		}
	}
}

// alive is the connection, closed and nil if the peer has cut it off; a slow one goes on by
// another byte.
func (f *flood) alive(conn net.Conn, slow bool) net.Conn {
	if conn == nil {
		return nil
	}
	var err error
	if slow {
		_, err = conn.Write([]byte{'x'})
	} else {
		_ = conn.SetReadDeadline(time.Now().Add(time.Microsecond)) // it hears nothing but its end
		if _, err = conn.Read(make([]byte, 1)); isTimeout(err) {
			err = nil
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil
	}
	return conn
}

func isTimeout(err error) bool {
	t, is := err.(net.Error) //nolint:errorlint // connections return it bare
	return is && t.Timeout()
}

// waits are how long answers took.
type waits []time.Duration

func (w waits) String() string {
	slices.Sort(w)
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("%d requests, p50 %s, p99 %s, max %s", len(w), round(w[len(w)/2]), round(w[len(w)*99/100]), round(w[len(w)-1]))
}

// ask measures requests of two users, one on a connection that it keeps and one that opens
// another each time, for a while.
func (f *flood) ask(t *testing.T, span time.Duration) (out waits) {
	t.Helper()
	kept := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	anew := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	defer kept.CloseIdleConnections()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n, end := 0, time.Now().Add(span); time.Now().Before(end); n++ {
		<-tick.C
		method, path, body := http.MethodGet, "/queue", ""
		if n%4 >= 2 {
			method, path, body = http.MethodPost, "/queue/submit", `{"command": "true", "user": "alice"}`
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+f.at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		began := time.Now()
		answer, err := []*http.Client{kept, anew}[n%2].Do(r)
		if err != nil {
			t.Errorf("%s %s is not answered: %v", method, path, err)
			continue
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if out = append(out, time.Since(began)); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s %s is answered %d, %v", method, path, answer.StatusCode, err)
		}
	}
	return out
}

// More idle connections, and such that send a header byte by byte, than a peer takes: others
// are answered within a second all the while.
func TestAFloodOfConnections(t *testing.T) {
	if *floodSize == 0 {
		t.Skip("needs -flood.connections=10000")
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	need := uint64(*floodSize) + spareFiles
	if files.Max < need {
		t.Skipf("needs %d open files, of which a process may have %d: raise the hard limit (ulimit -Hn)", need, files.Max)
	}
	files.Cur = max(files.Cur, need)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	c := start(t, "--nodes", "0")
	f := &flood{at: strings.TrimPrefix(follower(c), "http://")}
	t.Logf("before: %s", f.ask(t, *floodTime/4))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var full, work sync.WaitGroup
	began := time.Now()
	for i := 0; i*floodOfEach < *floodSize; i++ {
		full.Add(1)
		work.Go(func() {
			f.hold(ctx, net.IPv4(127, 0, 1, byte(1+i)), min(floodOfEach, *floodSize-i*floodOfEach), &full)
		})
	}
	f.rise(t, &full)
	t.Logf("%d connections were opened in %s", f.opened.Load(), time.Since(began).Round(time.Millisecond))
	during := f.ask(t, *floodTime)
	t.Logf("meanwhile: %s; %d connections were opened in all, %d could not be", during, f.opened.Load(), f.failed.Load())
	stop()
	work.Wait()
	if slowest := slices.Max(during); slowest > time.Second {
		t.Errorf("a request waited %s", slowest)
	}
	t.Logf("afterwards: %s", f.ask(t, *floodTime/4))
}

// rise asks on while the flood rises.
func (f *flood) rise(t *testing.T, full *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { full.Wait(); close(done) }()
	var all waits
	for {
		all = append(all, f.ask(t, 100*time.Millisecond)...)
		select {
		case <-done:
			t.Logf("while it rose: %s", all)
			if slowest := slices.Max(all); slowest > time.Second {
				t.Errorf("a request waited %s while the flood rose", slowest)
			}
			return
		default:
		}
	}
}
