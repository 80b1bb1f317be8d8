package step

import (
	"encoding/json"

	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/link"
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
