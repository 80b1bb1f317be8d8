package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// drawn returns the n-th UUIDv7 of an instant.
func drawn(at model.Time, n int) string {
	var id uuid.UUID
	ms := at / 1_000_000
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = 0x70, 0x80
	for i := range 4 {
		id[12+i] = byte(n >> (24 - 8*i))
	}
	return id.String()
}

// spend carries out n commands of an actor, each under another request id, and returns the last result.
func spend(t *testing.T, l *life, actor string, n int, id func(int) string, body command.Body) (last command.Result) {
	t.Helper()
	was := l.Actor
	defer func() { l.Actor, l.Unchecked = was, false }()
	l.Actor, l.Unchecked = actor, true
	for at := 0; at < n; {
		var list []command.Command
		for ; len(list) < command.MaxCommands && at < n; at++ {
			c, err := l.Command(body).WithRequest(id(at))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
		r := l.Entry(list...)
		last = r[len(r)-1]
	}
	return last
}

func setPriority(job model.JobID, class model.Class) *command.SetPriority {
	return &command.SetPriority{Job: job, Class: class, Priority: uint8(class)}
}

// A refused command changes nothing, so its request id takes no room, and the same
// request is judged again.
func TestRefusedRequestsAreNotRemembered(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	queued := l.Once("q", statetest.Job(1)).Job
	if r := spend(t, l, "user:eve", 5000, func(n int) string { return fmt.Sprint("r", n) }, cancel(9999)); r.Code != model.CodeNotFound {
		t.Fatalf("the last is %+v", r)
	}
	if n := l.State.Requests.Len(); n != 1 {
		t.Errorf("%d request ids are remembered after 5000 refusals, want 1", n)
	}
	wantCode(t, l.Once("h", &command.Requeue{Job: queued, Task: model.AllTasks}), model.CodeNotLive)
	l.Once("h", &command.Hold{Job: queued, Task: model.AllTasks})
	if task, _ := l.State.FirstTask(queued); !task.Held {
		t.Error("an id whose first use was refused cannot be used again")
	}
}

// An actor with more ids than its share forgets its own oldest ones. They are refused from then on and never
// carried out again, and no other actor is affected.
func TestARequestShareIsTheActorsOwn(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	first, second := drawn(l.Now, 1), drawn(l.Now, 2)
	wantCode(t, l.Once(first, &command.SetRunning{Running: true}), model.CodeOK)
	l.Actor = "user:eve"
	job := l.Once(first, statetest.Job(1)).Job
	l.Wait(time.Second)
	more := l.Now
	if r := spend(t, l, "user:eve", state.MaxRequestsOf, func(n int) string { return drawn(more, n) }, setPriority(job, model.ClassLow)); !r.OK() {
		t.Fatalf("the last is %+v", r)
	}
	if n := l.State.Requests.Len(); n != state.MaxRequestsOf+1 {
		t.Errorf("%d request ids are remembered, want %d", n, state.MaxRequestsOf+1)
	}
	if got := l.State.Settings().Requests.Early; got != 1 {
		t.Errorf("%d ids were forgotten early, want 1", got)
	}
	jobs := l.State.Jobs
	wantCode(t, l.Once(first, statetest.Job(1)), model.CodeRequestExpired)
	if l.State.Jobs != jobs {
		t.Error("a forgotten request was carried out again")
	}
	l.Actor = "user:alice"
	wantCode(t, l.Once(first, &command.SetRunning{Running: true}), model.CodeOK)
	wantCode(t, l.Once(second, &command.SetRunning{}), model.CodeOK)
	if l.State.Settings().Running {
		t.Error("the share of one actor kept another from stopping the orchestrator")
	}
}

// Ids without a time, or of a time to come, cannot be forgotten before their time, so a caller
// may have a bounded number of them; UUIDv7 of the present have room still.
func TestRequestIDsWithoutATime(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(*life) func(int) string{
		"text": func(*life) func(int) string { return func(n int) string { return fmt.Sprint("eve", n) } },
		"tomorrow": func(l *life) func(int) string {
			at := l.Now.Add(360 * 24 * time.Hour)
			return func(n int) string { return drawn(at, n) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := placed(t, 1)
			said := 0
			l.Told = func(list []model.Notice) {
				for _, n := range list {
					if n.Kind == model.NoticeNearlyFull && strings.Contains(n.Detail, "user:eve without a time") {
						said++
					}
				}
			}
			job := l.Do(statetest.Job(1)).Job
			r := spend(t, l, "user:eve", state.MaxRequestsOf, id(l), setPriority(job, model.ClassLow))
			if r.Code != model.CodeRequestsFull || !strings.Contains(r.Detail, "user:eve has 10000 request ids") || !strings.Contains(r.Detail, "UUIDv7") {
				t.Errorf("the last is %+v", r)
			}
			if said != 1 {
				t.Errorf("it was announced %d times that the share is nearly full, want 1", said)
			}
			l.Actor = "user:eve"
			wantCode(t, l.Once(drawn(l.Now, 1), setPriority(job, model.ClassHigh)), model.CodeOK)
			l.Actor = "user:alice"
			wantCode(t, l.Once("stop", &command.SetRunning{}), model.CodeOK)
			l.Wait(model.RequestKept + time.Minute)
			for l.Do(&command.CutRequests{Before: l.Now.Add(-model.RequestKept)}).Number > 0 {
			}
			if n, of := l.State.Requests.Len(), l.State.RequestUse.Len(); n != 0 || of != 0 {
				t.Errorf("%d ids of %d actors are remembered after a day", n, of)
			}
		})
	}
}
