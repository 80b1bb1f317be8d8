package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// The first argument of a child, and the kind of child that only keeps a core busy.
const (
	childMode = "child"
	spinner   = "spin"
)

// setup is what to measure and how long.
type setup struct {
	parts         []string
	dir, profiles string
	callers       []int
	runs, trials  int
	times
	plays
	clients
	versus
	markdown, tmpfs bool
	out, progress   io.Writer
}

// plays are where the traces of aims are, and the program that plays them.
type plays struct{ traces, program string }

// times are how long things are measured.
type times struct {
	warm  time.Duration // of commit, before anything counts
	each  time.Duration // of a run of commit
	watch time.Duration // of elections
}

func (s *setup) say(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) > 0 && args[0] == childMode {
		return beChild(args[1:])
	}
	s, err := parse(args, os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return measure(ctx, s)
}

// parse reads the parts and then the flags.
func parse(args []string, out, progress io.Writer) (*setup, error) {
	s := &setup{out: out, progress: progress}
	n := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if n < 0 {
		n = len(args)
	}
	s.parts, args = args[:n], args[n:]
	f := flag.NewFlagSet("bench [commit] [failover] [elections] | all | aims | client | upgrade | compare", flag.ContinueOnError)
	f.SetOutput(progress)
	f.StringVar(&s.dir, "dir", "test/bench/out", "`folder` for the peers' data, on the disk to measure")
	f.BoolVar(&s.tmpfs, "tmpfs", false, "measure although the folder is in memory")
	f.BoolVar(&s.markdown, "md", false, "print Markdown, for RESULTS.md")
	f.StringVar(&s.profiles, "profile", "", "`folder` for processor profiles of the leaders")
	f.IntVar(&s.runs, "runs", 3, "runs of each point of commit, and of upgrade and compare")
	f.DurationVar(&s.warm, "warm", time.Second, "time before a run is measured")
	f.DurationVar(&s.each, "run", 2*time.Second, "measured time of a run")
	f.IntVar(&s.trials, "trials", 30, "trials of failover, and of start in compare")
	f.DurationVar(&s.watch, "watch", 10*time.Minute, "time of elections")
	f.StringVar(&s.traces, "traces", "", "`folder` of the traces of aims")
	f.StringVar(&s.program, "berth", "bin/berth", "the `program` of aims, client, upgrade and compare")
	f.StringVar(&s.before, "before", "", "an older `program` berth, to compare that of client with")
	f.IntVar(&s.calls, "calls", 100, "`calls` one after the other in a run of client")
	f.IntVar(&s.submitted, "submissions", 800, "`submissions` of many processes at once in a run of client")
	f.IntVar(&s.parallel, "parallel", 16, "`processes` at once")
	f.StringVar(&s.base, "base", "", "the `commit` to compare with")
	f.IntVar(&s.jobs, "jobs", 500, "`jobs` of a round of compare")
	callers := f.String("callers", "1,16,64,256", "numbers of `callers` of commit")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return s, s.check(f.Args(), *callers)
}

func (s *setup) check(rest []string, callers string) error {
	for c := range strings.SplitSeq(callers, ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return fmt.Errorf("-callers: %q is no number of callers", c)
		}
		s.callers = append(s.callers, n)
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q: name parts before flags", rest[0])
	case s.runs < 1 || s.trials < 1 || s.each <= 0 || s.warm < 0 || s.watch <= 0,
		s.calls < 1 || s.submitted < 1 || s.parallel < 1 || s.jobs < 1:
		return errors.New("runs, trials, times, calls, submissions and processes must be positive")
	case len(s.parts) == 0:
		s.parts = []string{"commit", "failover"}
	case slices.Equal(s.parts, []string{"all"}):
		s.parts = []string{"commit", "failover", "elections"}
	}
	for _, part := range s.parts {
		if parts[part] == nil {
			return fmt.Errorf("there is no part %q: commit, failover, elections, all, aims, client, upgrade or compare", part)
		}
	}
	return nil
}

var parts = map[string]func(context.Context, *setup) (*figures.Table, error){
	"commit": measureCommit, "failover": measureFailover, "elections": measureElections, "aims": measureAims, "client": measureClient, "upgrade": measureUpgrade,
	"compare": measureCompare,
}

// measure runs the parts and prints what each has measured, also of one that then
// failed.
func measure(ctx context.Context, s *setup) error {
	for _, dir := range []string{s.dir, s.profiles} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	}
	about, err := figures.Machine(s.dir, s.tmpfs)
	if err != nil {
		return err
	}
	if err := show(about, s.out, s.markdown); err != nil {
		return err
	}
	for _, name := range s.parts {
		t, err := parts[name](ctx, s)
		if t != nil {
			err = errors.Join(err, show(t, s.out, s.markdown))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beChild is the other process: one peer, or one that keeps a core busy.
func beChild(args []string) error {
	f := flag.NewFlagSet(childMode, flag.ContinueOnError)
	kind := f.String("engine", "", "berth, bare or spin")
	id := f.String("id", "", "the peer's id")
	dir := f.String("data", "", "its folder")
	list := f.String("peers", "", "id=address,...")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *kind == spinner {
		spin()
	}
	launch := engines[*kind]
	if launch == nil {
		return fmt.Errorf("there is no engine %q", *kind)
	}
	peers, err := parsePeers(*list)
	if err != nil {
		return err
	}
	e, err := launch(place{*id, *dir, peers})
	if err != nil {
		return err
	}
	return errors.Join(serve(e, os.Stdin, os.Stdout), e.close())
}
