package state_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Whatever one user fills, an admin still cancels a job, drains a node, revokes a token and stops
// the orchestrator, under request ids as clients send them.
func TestAnAdminWorksWhateverAUserFills(t *testing.T) {
	t.Parallel()
	low := func(job model.JobID) command.Body { return setPriority(job, model.ClassLow) }
	for name, fill := range map[string]struct {
		with func(t *testing.T, l *life, job model.JobID) command.Result
		last model.Code // of the user's last try
	}{
		"request ids": {func(t *testing.T, l *life, job model.JobID) command.Result {
			at := l.Now
			return spend(t, l, "user:eve", state.MaxRequestsOf+1, func(n int) string { return drawn(at, n) }, low(job))
		}, model.CodeOK},
		"request ids without a time": {func(t *testing.T, l *life, job model.JobID) command.Result {
			return spend(t, l, "user:eve", state.MaxRequestsOf/2+1, func(n int) string { return fmt.Sprint("eve", n) }, low(job))
		}, model.CodeRequestsFull},
		"request ids of next year": {func(t *testing.T, l *life, job model.JobID) command.Result {
			at := l.Now.Add(300 * 24 * time.Hour)
			return spend(t, l, "user:eve", state.MaxRequestsOf/2+1, func(n int) string { return drawn(at, n) }, low(job))
		}, model.CodeRequestsFull},
		"refused commands": {func(t *testing.T, l *life, _ model.JobID) command.Result {
			return spend(t, l, "user:eve", state.MaxRequestsOf+1, func(n int) string { return fmt.Sprint("eve", n) }, low(999))
		}, model.CodeNotFound},
		"reservations": {func(_ *testing.T, l *life, _ model.JobID) (last command.Result) {
			l.Actor, l.Unchecked = "user:eve", true
			for n := range model.MaxUserBookings + 1 {
				b := booked(l.Cluster, 1, func(b *model.Booking) {
					b.Start, b.End = l.Now.Add(time.Duration(n+1)*time.Minute), l.Now.Add(time.Duration(n+2)*time.Minute)
				})
				b.Capped = true
				last = l.Try(b)
			}
			l.Unchecked = false
			return last
		}, model.CodeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := placed(t, 1)
			l.Do(&command.FoundAuth{Secret: model.Secret{7}, Token: hashOf(1)})
			l.Do(&command.MakeToken{Hash: hashOf(2), User: "root", Role: model.RoleAdmin, Spend: hashOf(1)})
			l.Do(&command.MakeToken{Hash: hashOf(3), User: "eve", Role: model.RoleUser})
			job := l.Do(statetest.Job(1)).Job
			if r := fill.with(t, l, job); r.Code != fill.last {
				t.Fatalf("the user's last try: %+v, want %s", r, fill.last)
			}
			l.Actor = "user:root"
			for n, b := range []command.Body{
				cancel(job),
				&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining, Note: "eve"},
				&command.DropTokens{Tokens: []model.Hash{hashOf(3)}},
				&command.SetRunning{},
			} {
				if r := l.Once(drawn(l.Now, n), b); !r.OK() {
					t.Errorf("the admin's %s: %+v", b.Kind(), r)
				}
			}
		})
	}
}
