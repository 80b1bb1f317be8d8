package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
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
)

// clients are the programs whose calls are compared: that of this version, that of another one, and Slurm's.
type clients struct {
	before           string // an older program berth; empty: none
	calls, submitted int    // of each run: versions and submissions one after the other, submissions of many at once
	parallel         int
}

// caller is a program that users call.
type caller struct {
	name    string
	program string // its path
	version []string
	submit  []string                    // the arguments of a submission; nil: it submits nothing
	direct  func(context.Context) error // a submission of this process over an open connection, in place of a program; may be nil
	results []called
}

// called is the result of one run.
type called struct {
	version, one  []time.Duration // sorted
	versionCPU    time.Duration   // of a process: user and system
	submissionCPU time.Duration
	rate          float64 // submissions a second of all processes together
}

// berthCaller returns how a program berth is called.
func berthCaller(name, program string) *caller {
	return &caller{name: name, program: program, version: []string{"version"}, submit: []string{"submit", "--parsable", "--", "true"}}
}

// callersOfClient returns the programs that are there, in the order in which they are measured.
func (s *setup) callersOfClient(ctx context.Context) []*caller {
	list := []*caller{berthCaller("berth", s.program)}
	if s.before != "" {
		list = append(list, berthCaller("berth before", s.before))
	}
	if path, err := exec.LookPath("true"); err == nil {
		list = append(list, &caller{name: "true, which does nothing", program: path})
	}
	path, err := exec.LookPath("sbatch")
	if err != nil {
		s.say("client: sbatch is not on PATH")
		return list
	}
	slurm := &caller{name: "sbatch", program: path, version: []string{"--version"}, submit: []string{"--hold", "--parsable", "--output=/dev/null", "--wrap", "true"}}
	if out, err := exec.CommandContext(ctx, path, slurm.submit...).CombinedOutput(); err != nil {
		s.say("client: sbatch does not work here: %v: %s", err, strings.TrimSpace(string(out)))
		return list
	}
	return append(list, slurm)
}

// measureClient measures what a call of the program costs: alone, with one submission, and many at once, against a cluster
// of berth dev whose scheduler is stopped.
func measureClient(ctx context.Context, s *setup) (t *figures.Table, err error) {
	if err := s.install(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(s.program))) }()
	address, stop, err := s.startDev(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := os.Setenv("BERTH_ADDRESS", address); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, s.program, "orchestrator", "stop").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("berth orchestrator stop: %w: %s", err, out)
	}
	open, err := client.New(client.Options{Addresses: []string{address}})
	if err != nil {
		return nil, err
	}
	defer open.Close()
	list := append(s.callersOfClient(ctx), &caller{name: "no process: an open connection", submit: []string{}, direct: func(ctx context.Context) error {
		_, err := open.Submit(ctx, &wire.Submit{Args: []string{"true"}, User: "bench"}, "")
		return err
	}})
	for n := range s.runs {
		for _, c := range list {
			s.say("client: %s, run %d of %d", c.name, n+1, s.runs)
			if err := c.run(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	return clientTable(s, list)
}

// install copies the programs to a folder of the run, and goes on with the copies. A file that the linker has just written
// lies in small pieces in the kernel's cache, and starts more slowly than an installed file.
func (s *setup) install() error {
	folder, err := os.MkdirTemp(s.dir, "client-bin-")
	if err != nil {
		return err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	copied := func(from, name string) error {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, name), text, 0o755)
	}
	err = errors.Join(copied(s.program, "berth"), copied(filepath.Join(filepath.Dir(s.program), "berthd"), "berthd"))
	if s.before != "" {
		err = errors.Join(err, copied(s.before, "berth-before"))
		s.before = filepath.Join(folder, "berth-before")
	}
	s.program = filepath.Join(folder, "berth")
	return err
}

// startDev starts a cluster of this version, and returns the address of its first peer.
func (s *setup) startDev(ctx context.Context) (address string, stop func() error, err error) {
	folder, err := os.MkdirTemp(s.dir, "client-")
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil {
		return "", nil, err
	}
	dev := exec.CommandContext(ctx, s.program, "dev", "--nodes", "1", "--data", folder, "--http", address) //nolint:gosec // as it was called
	dev.Stderr = os.Stderr
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() error {
		err := dev.Process.Signal(syscall.SIGINT)
		return errors.Join(err, dev.Wait(), os.RemoveAll(folder))
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ctrl-C ends the cluster") {
			go func() {
				for lines.Scan() { // what it prints at its end
				}
			}()
			return address, stop, nil
		}
	}
	return "", nil, errors.Join(errors.New("berth dev has ended before its cluster was ready"), dev.Wait(), os.RemoveAll(folder))
}

// run is one run of one program.
func (c *caller) run(ctx context.Context, s *setup) (err error) {
	var r called
	if c.direct == nil {
		if r.version, r.versionCPU, err = c.sequence(ctx, s.calls, c.version); err != nil {
			return err
		}
	}
	if c.submit != nil {
		if r.one, r.submissionCPU, err = c.sequence(ctx, s.calls, c.submit); err != nil {
			return err
		}
		if r.rate, err = c.together(ctx, s); err != nil {
			return err
		}
	}
	c.results = append(c.results, r)
	return nil
}

// once runs the program once.
func (c *caller) once(ctx context.Context, args []string) (took, cpu time.Duration, err error) {
	if c.direct != nil {
		began := time.Now()
		err := c.direct(ctx)
		return time.Since(began), 0, err
	}
	cmd := exec.CommandContext(ctx, c.program, args...) //nolint:gosec // the programs that are measured
	began := time.Now()
	err = cmd.Run()
	took = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("%s %s: %w", c.program, strings.Join(args, " "), err)
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// sequence runs the program n times, one after the other, and returns how long each took, and the mean processor time.
func (c *caller) sequence(ctx context.Context, n int, args []string) (took []time.Duration, cpu time.Duration, err error) {
	for range n {
		t, used, err := c.once(ctx, args)
		if err != nil {
			return nil, 0, err
		}
		took, cpu = append(took, t), cpu+used
	}
	slices.Sort(took)
	return took, cpu / time.Duration(n), nil
}

// together returns the submissions a second of processes of which so many run at once.
func (c *caller) together(ctx context.Context, s *setup) (rate float64, err error) {
	var all sync.WaitGroup
	failed := make(chan error, s.parallel)
	each := max(1, s.submitted/s.parallel)
	began := time.Now()
	for range s.parallel {
		all.Go(func() {
			for range each {
				if _, _, err := c.once(ctx, c.submit); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	close(failed)
	for f := range failed {
		err = errors.Join(err, f)
	}
	return float64(each*s.parallel) / took.Seconds(), err
}

// of returns a figure of each run.
func (c *caller) of(figure func(called) float64) (out []float64) {
	for _, r := range c.results {
		out = append(out, figure(r))
	}
	return out
}

// spread prints the median, the lowest and the highest of some runs.
func spread(values []float64, form string) string {
	return fmt.Sprintf(form+" ("+form+" to "+form+")", figures.Median(values), slices.Min(values), slices.Max(values))
}

func clientTable(s *setup, list []*caller) (*figures.Table, error) {
	t := &figures.Table{
		Title: fmt.Sprintf("Calls of the client as processes: median (lowest to highest) of %d runs of %d calls in turns; times in ms", s.runs, s.calls),
		Head: []string{
			"program", "MB", "version, p50", "CPU", "a submission, p50", "p95", "CPU", "of berth before",
			fmt.Sprintf("submissions a second, %d at once", s.parallel), "of berth before",
		},
	}
	in := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	one := func(r called) float64 { return in(figures.Percentile(r.one, 50)) }
	rate := func(r called) float64 { return r.rate }
	var base, baseRate float64
	if at := slices.IndexFunc(list, func(c *caller) bool { return c.name == "berth before" }); at >= 0 {
		base, baseRate = figures.Median(list[at].of(one)), figures.Median(list[at].of(rate))
	}
	ratio := func(v, of float64) string {
		if of == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", v/of)
	}
	for _, c := range list {
		cells := []string{c.name, "-", "-", "-"}
		if c.direct == nil {
			info, err := os.Stat(c.program)
			if err != nil {
				return nil, err
			}
			cells = []string{
				c.name, fmt.Sprintf("%.1f", float64(info.Size())/1e6),
				spread(c.of(func(r called) float64 { return in(figures.Percentile(r.version, 50)) }), "%.2f"),
				fmt.Sprintf("%.2f", figures.Median(c.of(func(r called) float64 { return in(r.versionCPU) }))),
			}
		}
		if c.submit == nil {
			t.Add(append(cells, "-", "-", "-", "-", "-", "-")...)
			continue
		}
		t.Add(append(cells, spread(c.of(one), "%.2f"), spread(c.of(func(r called) float64 { return in(figures.Percentile(r.one, 95)) }), "%.2f"),
			fmt.Sprintf("%.2f", figures.Median(c.of(func(r called) float64 { return in(r.submissionCPU) }))), ratio(figures.Median(c.of(one)), base),
			spread(c.of(rate), "%.0f"), ratio(figures.Median(c.of(rate)), baseRate))...)
	}
	return t, nil
}
