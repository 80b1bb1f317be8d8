package apply_test

import (
	"bytes"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A purge removes what an ended job ran with, and nothing that another job shares.
func TestPurge(t *testing.T) {
	l := statetest.New(t)
	submit := func(script, env string) model.JobID {
		return l.Do(&command.Submit{
			Spec: statetest.Spec(1), Script: script, Env: []string{env}, SubmitEnv: []string{env}, Stdin: "Zm9v", Tasks: 1,
		}).Job
	}
	one, other := submit("#!/bin/sh\none", "A=1"), submit("#!/bin/sh\nother", "A=1")
	had := l.State.Blobs.Len()
	wantCode(t, l.Try(&command.Purge{Job: one}), model.CodeConflict)
	wantCode(t, l.Try(&command.Purge{Job: 999}), model.CodeNotFound)
	l.Do(&command.Cancel{Job: one, Task: model.AllTasks})
	if r := l.Do(&command.Purge{Job: one}); r.Job != one {
		t.Errorf("the result is %+v", r)
	}
	j, _ := l.State.Jobs.Get(one)
	if j.Purged != l.State.Settings().Clock || !j.Script.IsZero() || !j.Env.IsZero() || !j.SubmitEnv.IsZero() || !j.Stdin.IsZero() {
		t.Errorf("the job is %+v", j)
	}
	if got := l.State.Blobs.Len(); got != had-1 {
		t.Errorf("%d contents of %d are left: the script of the job goes, and what another job has stays", got, had)
	}
	if o, _ := l.State.Jobs.Get(other); o.Purged != 0 || !l.State.Blobs.Has(o.Env) || !l.State.Blobs.Has(o.Stdin) {
		t.Errorf("the other job is %+v", o)
	}
	l.Do(&command.Purge{Job: one}) // again: nothing
	if again, _ := l.State.Jobs.Get(one); again != j {
		t.Errorf("a second purge makes it %+v", again)
	}
}

// One entry may end a job and purge the job, or submit one, end and purge that.
func TestPurgeInTheEntryOfTheEnd(t *testing.T) {
	l := statetest.New(t)
	submit := statetest.Job(1, func(b *command.Submit) { b.Script, b.Env = "#!/bin/sh\nplanted", []string{"A=planted"} })
	job := l.Do(submit).Job
	next := l.State.Settings().NextJob
	for _, r := range l.Entry(
		l.Command(&command.Cancel{Job: job, Task: model.AllTasks}), l.Command(&command.Purge{Job: job}),
		l.Command(submit), l.Command(&command.Cancel{Job: next, Task: model.AllTasks}), l.Command(&command.Purge{Job: next}),
	) {
		wantCode(t, r, model.CodeOK)
	}
	if n := l.State.Blobs.Len(); n != 0 {
		t.Errorf("%d contents are left", n)
	}
}

// The check names a purged job that has open tasks, or a text.
func TestCheckNamesABrokenPurge(t *testing.T) {
	for name, purge := range map[string]func(*state.State){
		"open tasks": func(s *state.State) {
			statetest.Put(&s.Jobs, 1, func(j *model.Job) { j.Purged, j.Script = 1, model.Hash{} })
		},
		"a text": func(s *state.State) { statetest.Put(&s.Jobs, 2, func(j *model.Job) { j.Purged = 1 }) },
	} {
		t.Run(name, func(t *testing.T) {
			l := statetest.New(t)
			l.Submit(1)
			ended := l.Submit(1, func(b *command.Submit) { b.Script = "#!/bin/sh\n" })
			l.Do(&command.Cancel{Job: ended, Task: model.AllTasks})
			broken := l.State
			purge(&broken)
			if err := check.State(&broken); !statetest.Names(err, check.References) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

// What a job ran with is not archived.
func TestAHistoryHasNoTexts(t *testing.T) {
	l := statetest.New(t)
	job := l.Do(&command.Submit{
		Spec: statetest.Spec(1), Script: "#!/bin/sh\nplanted", Env: []string{"A=planted"}, SubmitEnv: []string{"B=planted"}, Tasks: 1,
	}).Job
	for _, h := range l.State.Histories(job) {
		data, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("planted")) {
			t.Errorf("the archive holds %q", data)
		}
	}
}
