package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/internal/newer"
)

// The load during an upgrade.
const (
	upgradeRate  = 200 // submissions a second
	upgradeLimit = 2 * time.Minute
	upgradeCalm  = 2 * time.Second // under load, before and after
)

// rolling is a cluster of three peers that is upgraded.
type rolling struct {
	dir, old, now string
	raft, apis    []string
	runs          [3]*exec.Cmd
	api           *client.Client
}

// rolled is the result of one upgrade.
type rolled struct {
	took   time.Duration   // from the end of the first old process until the last new one is ready
	times  []time.Duration // of submissions, sorted
	gap    time.Duration   // longest time without an acknowledged submission
	failed int
	first  error // of those that failed
}

// measureUpgrade upgrades three peers to the next release, the followers and then the leader, under load.
func measureUpgrade(ctx context.Context, s *setup) (*figures.Table, error) {
	old, err := filepath.Abs(s.program + "d")
	if err != nil {
		return nil, err
	}
	now := filepath.Join(filepath.Dir(old), "berthd-next")
	if err := newer.Build(ctx, ".", now); err != nil {
		return nil, err
	}
	out := &figures.Table{
		Title: fmt.Sprintf("Rolling upgrade of three peers under %d submissions a second", upgradeRate),
		Head:  []string{"run", "submissions", "failed", "longest", "longest without any answer", "p50", "p99", "upgrade took"},
	}
	var longest, gaps []float64
	for n := range s.runs {
		r, err := rollOnce(ctx, s.dir, old, now)
		if err != nil {
			return out, fmt.Errorf("run %d: %w", n+1, err)
		}
		most := r.times[len(r.times)-1]
		longest, gaps = append(longest, float64(most)), append(gaps, float64(r.gap))
		s.say("upgrade: run %d of %d, %s, %d of %d failed (%v)", n+1, s.runs, figures.Millis(most), r.failed, len(r.times), r.first)
		out.Add(fmt.Sprint(n+1), fmt.Sprint(len(r.times)), fmt.Sprint(r.failed), figures.Millis(most), figures.Millis(r.gap),
			figures.At(r.times, 50), figures.At(r.times, 99), figures.Millis(r.took))
	}
	out.Add("median", "", "", figures.Millis(time.Duration(figures.Median(longest))), figures.Millis(time.Duration(figures.Median(gaps))), "", "", "")
	return out, nil
}

func rollOnce(ctx context.Context, dir, old, now string) (_ *rolled, err error) {
	if dir, err = os.MkdirTemp(dir, "upgrade-*"); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	c := &rolling{dir: dir, old: old, now: now}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.found(ctx); err != nil {
		return nil, err
	}
	load := &steady{api: c.api}
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); load.run(running) }()
	took, err := c.roll(ctx)
	stop()
	<-done
	if err != nil {
		return nil, err
	}
	return load.sum(took), nil
}

// found starts three peers of the old program.
func (c *rolling) found(ctx context.Context) error {
	var founders []string
	for i := range 3 {
		for _, list := range []*[]string{&c.raft, &c.apis} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			*list = append(*list, l.Addr().String())
			if err := l.Close(); err != nil {
				return err
			}
		}
		founders = append(founders, fmt.Sprintf("p%d=%s", i+1, c.raft[i]))
	}
	steps := [][]string{{"init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", c.data(0)}}
	for i := 1; i < 3; i++ {
		steps = append(steps, []string{"cert", "issue", "peer", fmt.Sprintf("p%d", i+1), "--from", c.data(0), "--out", filepath.Join(c.data(i), "trust")})
	}
	for _, args := range steps {
		if out, err := exec.CommandContext(ctx, c.now, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	for i := range 3 {
		if err := c.start(i, c.old, strings.Join(founders, ",")); err != nil {
			return err
		}
	}
	var err error
	if c.api, err = client.New(client.Options{Addresses: c.apis}); err != nil {
		return err
	}
	for i := range 3 {
		err = errors.Join(err, c.ready(ctx, i))
	}
	return err
}

func (c *rolling) data(i int) string { return filepath.Join(c.dir, fmt.Sprintf("p%d", i+1)) }

func (c *rolling) start(i int, program, founders string) error {
	args := []string{"server", "--id", fmt.Sprintf("p%d", i+1), "--data-dir", c.data(i), "--listen", c.raft[i], "--http", c.apis[i], "--min-free", "1", "--bootstrap", founders}
	c.runs[i] = exec.Command(program, args...)
	return c.runs[i].Start()
}

// ready waits until a peer answers for the cluster.
func (c *rolling) ready(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, upgradeLimit)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.apis[i]+"/readyz", nil)
		if err != nil {
			return err
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			if err := answer.Body.Close(); err != nil || answer.StatusCode == http.StatusOK {
				return err
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("peer p%d is not ready: %w", i+1, ctx.Err())
		}
	}
}

// roll upgrades the followers and then the leader, and returns how long that took.
func (c *rolling) roll(ctx context.Context) (time.Duration, error) {
	if err := rest(ctx, upgradeCalm); err != nil {
		return 0, err
	}
	peers, err := c.api.Peers(ctx)
	if err != nil {
		return 0, err
	}
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(a, b int) int {
		leads := func(i int) int {
			if peers.Leader == fmt.Sprintf("p%d", i+1) {
				return 1
			}
			return 0
		}
		return leads(a) - leads(b)
	})
	began := time.Now()
	for _, i := range order {
		founders := c.runs[i].Args[len(c.runs[i].Args)-1]
		if err := c.runs[i].Process.Signal(syscall.SIGTERM); err != nil {
			return 0, err
		}
		if err := c.runs[i].Wait(); err != nil {
			return 0, err
		}
		if err := errors.Join(c.start(i, c.now, founders), c.ready(ctx, i)); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	return took, rest(ctx, upgradeCalm)
}

func rest(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends the peers and removes what they wrote.
func (c *rolling) close() error {
	for _, run := range c.runs {
		if run != nil && run.Process != nil && run.ProcessState == nil {
			_ = run.Process.Kill()
			_ = run.Wait()
		}
	}
	if c.api != nil {
		c.api.Close()
	}
	return os.RemoveAll(c.dir)
}

// steady submits jobs at a rate, whether those before were answered or not.
type steady struct {
	api *client.Client

	mu     sync.Mutex
	times  []time.Duration
	acks   []time.Time
	failed int
	first  error
}

func (l *steady) run(ctx context.Context) {
	tick := time.NewTicker(time.Second / upgradeRate)
	defer tick.Stop()
	var work sync.WaitGroup
	defer work.Wait()
	for {
		select {
		case <-tick.C:
			work.Go(func() { l.submit(context.WithoutCancel(ctx)) })
		case <-ctx.Done():
			return
		}
	}
}

func (l *steady) submit(ctx context.Context) {
	began := time.Now()
	_, err := l.api.Submit(ctx, &wire.Submit{Command: "true"}, "")
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, now.Sub(began))
	if err == nil {
		l.acks = append(l.acks, now)
		return
	}
	if l.failed++; l.first == nil {
		l.first = err
	}
}

func (l *steady) sum(took time.Duration) *rolled {
	r := &rolled{took: took, times: slices.Sorted(slices.Values(l.times)), failed: l.failed, first: l.first}
	for i := 1; i < len(l.acks); i++ {
		r.gap = max(r.gap, l.acks[i].Sub(l.acks[i-1]))
	}
	return r
}
