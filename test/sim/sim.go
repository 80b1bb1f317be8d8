package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
)

// Report is the result of a run.
type Report struct {
	Broken  *Violation
	Hash    string // of the trace
	Entries int    // of the command log
	Acked   int    // requests of users
	Jobs    int
	Lost    uint64 // attempts that were given up
	Virtual time.Duration
	Rules   map[string]int // how many placements each rule of users' requirements concerned, by the name of its breach
	trace   *Trace
	log     []logged
}

// Run simulates a cluster: by a script, or if it is nil with faults and users at random; then everything is healed and must come right. It
// must be called in a bubble.
func Run(s Setup, script func(*World)) *Report {
	w := NewWorld(s)
	if script == nil {
		script = (*World).atRandom
	}
	script(w)
	w.Settle()
	r := w.report()
	w.Close()
	return r
}

// atRandom lets users work and things go wrong for a while.
func (w *World) atRandom() {
	ctx, cancel := context.WithTimeout(w.ctx, w.Faulty)
	defer cancel()
	for i := range w.Users {
		u := newUser(w, fmt.Sprintf("u%d", i+1), uint64(100+i))
		w.work.Go(func() { u.work(ctx) })
	}
	w.work.Go(func() {
		select {
		case <-w.trace.fail:
			cancel()
		case <-ctx.Done():
		}
	})
	w.breakThings(ctx)
}

func (w *World) report() *Report {
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	s := w.oracle.state
	return &Report{
		Broken: w.trace.Broken(), Hash: w.trace.Hash(), Entries: len(w.oracle.log), Acked: len(w.shared.acks),
		Jobs: s.Jobs.Len(), Lost: s.Settings().Totals.Lost, Virtual: time.Since(w.trace.began),
		Rules: w.rules.said(), trace: w.trace, log: w.oracle.log,
	}
}

// WriteLog prints the last entries of the command log, or all if n is 0.
func (r *Report) WriteLog(w io.Writer, n int) {
	log := r.log
	if n > 0 && len(log) > n {
		log = log[len(log)-n:]
	}
	for _, l := range log {
		fmt.Fprintf(w, "%d term %d at %s by %s\n", l.index, l.term, l.entry.At.Time().Format("15:04:05.000"), l.entry.By)
		for i, c := range l.entry.Commands {
			fmt.Fprintf(w, "    %s %s %s %s = %s %s %v\n", c.Actor, c.RequestID, c.Kind(), describe(c.Body),
				l.results[i].Code, l.results[i].Detail, l.results[i].Verdicts)
		}
	}
}

// describe prints a body on one line, without what makes lines endless.
func describe(b command.Body) string {
	const most = 400
	text := fmt.Sprintf("%+v", b)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// Save writes trace and command log to files in a folder, and returns their names.
func (r *Report) Save(dir string) (trace, log string, err error) {
	trace, log = filepath.Join(dir, "trace.txt"), filepath.Join(dir, "commands.txt")
	for name, write := range map[string]func(io.Writer){
		trace: func(f io.Writer) { r.trace.Write(f, false) },
		log:   func(f io.Writer) { r.WriteLog(f, 0) },
	} {
		f, err := os.Create(filepath.Clean(name))
		if err != nil {
			return "", "", fmt.Errorf("saving what happened: %w", err)
		}
		write(f)
		if err := f.Close(); err != nil {
			return "", "", fmt.Errorf("saving what happened: %w", err)
		}
	}
	return trace, log, nil
}
