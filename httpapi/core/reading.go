package core

import (
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
)

// CodeRead stands in a record of a read in place of the code of a refusal.
const CodeRead = "read"

// Bounds of the reads that are remembered, so that a reader that asks for the same data every
// second makes one record a minute.
const (
	readAgain = time.Minute
	maxReads  = 4096 // remembered
)

// readers remembers recent reads by caller and target.
type readers struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// first reports whether a read was not recorded a moment ago.
func (r *readers) first(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, known := r.seen[key]; known && now.Sub(at) < readAgain && !now.Before(at) {
		return false
	}
	if len(r.seen) >= maxReads || r.seen == nil {
		r.seen = map[string]time.Time{} // a forgotten read is recorded once more
	}
	r.seen[key] = now
	return true
}

// noteRead records a request that reads another user's data, before it is answered: the output of a
// job, a job with its command, or the whole state. Reads change nothing and do not reach the log: the
// peer that answers keeps the records.
func (a *API) noteRead(r *http.Request, rule auth.Rule) {
	c := auth.From(r.Context())
	if rule.Method != http.MethodGet || c.Credential.IsZero() || !a.readsOthers(r, rule, c) {
		return
	}
	now := a.Config.Now().UTC()
	path := r.URL.Path
	path = path[:min(len(path), maxNotedPath)]
	if !a.readers.first(c.Actor()+"\n"+path, now) {
		return
	}
	a.Peer.Reads.Refused(archive.Refusal{
		Time: now, From: SenderOf(r.Context()), Actor: c.Actor(), Method: r.Method, Path: path, Status: http.StatusOK, Code: CodeRead,
	})
}

// readsOthers reports whether a request reads another user's data that is not public.
func (a *API) readsOthers(r *http.Request, rule auth.Rule, c *auth.Caller) bool {
	switch rule.Path {
	case "/snapshot", "/cluster/backup":
		return true
	case "/jobs/{job_id}", "/jobs/{job_id}/tasks", "/jobs/{job_id}/logs", "/jobs/{job_id}/spec":
	default:
		return false
	}
	id, err := intake.JobID(mux.Vars(r)["job_id"])
	if err != nil {
		return false
	}
	s := a.State()
	job, found := s.Jobs.Get(id)
	if !found { // it may be in the archive, with any owner
		return c.Role.Covers(model.RoleOperator)
	}
	if c.Owns(job.Spec.User, job.Submitted) && (c.Kind == auth.User || c.Kind == auth.Service) {
		return false
	}
	return rule.Path == "/jobs/{job_id}/logs" || rule.Path == "/jobs/{job_id}/spec" || a.Sees(r.Context(), &s)(&job)
}
