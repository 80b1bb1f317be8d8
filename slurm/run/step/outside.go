package step

import (
	"encoding/json"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// Released returns a channel that is closed when salloc has given the allocation back.
func (s *Server) Released() <-chan struct{} { return s.released }

// receive answers what a program asks for ahead of a step, and reads the request for a step. It reports whether there is one.
func (s *Server) receive(c *link.Conn, ask *link.Ask) bool {
	for {
		f, err := c.Receive()
		if err != nil {
			return false
		}
		switch f.Kind { //nolint:exhaustive // no others begin a connection
		case link.KindDescribe:
			public := *s.file
			public.Secret, public.Ranks = "", nil
			if c.SendValue(link.KindJob, &public) != nil {
				return false
			}
		case link.KindAsk:
			return json.Unmarshal(f.Body, ask) == nil
		case link.KindSignalJob:
			var sig link.Signal
			answer, text := link.KindTaken, ""
			if json.Unmarshal(f.Body, &sig) != nil {
				return false
			}
			if text = s.signal(&sig); text != "" {
				answer = link.KindRefused
			}
			if c.Send(answer, []byte(text)) != nil {
				return false
			}
		case link.KindRelease:
			if s.file.Request.Allocation {
				s.release.Do(func() { close(s.released) })
			}
			return false
		default:
			return false
		}
	}
}

// HasScript sets how signals reach the script of the job.
func (s *Server) HasScript(signal func(sig unix.Signal, group bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = signal
}

// running notes that the tasks of a session run, or run no more.
func (s *Server) running(ss *session, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.runs[ss] = true
	} else {
		delete(s.runs, ss)
	}
}

// signal sends a signal to processes of the job, and returns why that is not possible; empty: it was sent.
func (s *Server) signal(sig *link.Signal) (refused string) {
	s.mu.Lock()
	script := s.script
	var steps []*session
	for ss := range s.runs { // order-free: each by itself
		// With the script's group the signal reaches each srun there, which passes it on to its tasks.
		if sig.Steps && (sig.Step < 0 && (script == nil || !sig.Group) || sig.Step == ss.step.ID) {
			steps = append(steps, ss)
		}
	}
	s.mu.Unlock()
	switch {
	case sig.Number < 1 || sig.Number > 64:
		return fmt.Sprintf("there is no signal %d", sig.Number)
	case sig.Steps && sig.Step >= 0 && len(steps) == 0:
		return fmt.Sprintf("job %d has no step %d that runs", s.file.Job.ID, sig.Step)
	}
	if sig.Script && script != nil {
		script(unix.Signal(sig.Number), sig.Group)
	}
	for _, ss := range steps {
		for _, c := range ss.conns() {
			if sig.End {
				_ = c.Send(link.KindEnd) // a lost connection is found by serve
			} else {
				_ = c.Send(link.KindSignal, []byte{byte(sig.Number)}) // a lost connection is found by serve
			}
		}
	}
	return ""
}
