package main

import (
	"errors"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// proposer proposes one command for a caller and waits for its result.
type proposer func(caller int) error

// drive lets callers propose, each its next command as soon as the last has been
// answered.
func drive(spec *loadSpec, propose proposer) loadResult {
	from := time.Now().Add(spec.Warm)
	until := from.Add(spec.Run)
	shares := make([]share, spec.Callers)
	var work sync.WaitGroup
	for i := range shares {
		work.Go(func() { shares[i].run(from, until, func() error { return propose(i) }) })
	}
	work.Wait()
	return sum(shares)
}

// share is what one caller has seen.
type share struct {
	waits  []time.Duration
	warm   int
	failed int
	why    error
}

func (s *share) run(from, until time.Time, propose func() error) {
	for {
		begin := time.Now()
		if begin.After(until) {
			return
		}
		err := propose()
		switch {
		case err != nil:
			s.failed++
			if s.why == nil {
				s.why = err
			}
		case begin.Before(from):
			s.warm++
		default:
			s.waits = append(s.waits, time.Since(begin))
		}
	}
}

func sum(shares []share) loadResult {
	var r loadResult
	var waits []time.Duration
	for i := range shares {
		s := &shares[i]
		waits = append(waits, s.waits...)
		r.All += len(s.waits) + s.warm
		r.Failed += s.failed
		if s.why != nil && r.Why == "" {
			r.Why = s.why.Error()
		}
	}
	slices.Sort(waits)
	r.Count = len(waits)
	r.P50, r.P99 = figures.Percentile(waits, 50), figures.Percentile(waits, 99)
	return r
}

// profiled runs f under a processor profile, if a file is named.
func profiled(path string, f func()) (err error) {
	if path == "" {
		f()
		return nil
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	f()
	return nil
}
