package admin

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/apply/jobs"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// BeginImport opens the cluster for an import, or resumes one that was begun before: the result's number
// is the part that comes next.
func BeginImport(t *tx.Tx, b *command.BeginImport) command.Result {
	i := &t.Settings.Import
	switch what := inhabited(t); {
	case i.ID == b.ID && i.Parts != b.Parts:
		return tx.Refuse(model.CodeConflict, "this import was begun with %d parts, not %d: import with the program that began it", i.Parts, b.Parts)
	case i.ID == b.ID:
		return command.Result{Number: uint64(i.Next)}
	case i.Open:
		return tx.Refuse(model.CodeConflict, "other state files are being imported: finish that first")
	case what != "":
		return tx.Refuse(model.CodeConflict, "the cluster is not empty, it has %s: import into a new one", what)
	case t.Settings.Standstill:
		return tx.Refuse(model.CodeConflict, "the scheduler stands still after a restore: resume it first")
	}
	*i = model.Import{ID: b.ID, Open: true, Parts: b.Parts}
	t.Settings.Standstill = true
	return tx.OK()
}

// inhabited returns what users have already added to the cluster; empty: nothing. Nodes come with their
// agents and do not count, nor do agents' tokens; and if the cluster authenticates callers, there must be a
// user for the import.
func inhabited(t *tx.Tx) string {
	people := 0
	for _, token := range t.Tokens.Now().All() {
		if _, human := token.Of(); human {
			people++
		}
	}
	quotas := 0
	for of := range t.Limits.Now().All() {
		if of.Kind != model.ScopeCluster { // the cluster's own come with its founding, and an import brings others
			quotas++
		}
	}
	allowed := 0
	if t.Settings.Auth.On() {
		allowed = 1
	}
	for _, v := range []struct {
		name string
		some bool
	}{
		{"an import behind it", !t.Settings.Import.ID.IsZero()},
		{"jobs", t.Settings.Totals.Submitted > 0 || t.Jobs.Size() > 0},
		{"allocations", t.Allocations.Size() > 0},
		{"reservations", t.Bookings.Size() > 0},
		{"quotas", quotas > 0},
		{"shares", t.Weights.Size() > 0},
		{"projects", t.Members.Size() > 0},
		{"more users than the importing one", t.Users.Size() > allowed},
		{"more tokens than that of the importing user", people > allowed},
	} {
		if v.some {
			return v.name
		}
	}
	return ""
}

// ImportJobs queues the jobs of one part, once.
func ImportJobs(t *tx.Tx, b *command.ImportJobs) command.Result {
	i := &t.Settings.Import
	switch {
	case i.ID != b.ID:
		return tx.Refuse(model.CodeConflict, "there is no such import: begin it first")
	case b.Part < i.Next:
		return command.Result{Number: uint64(i.Next)}
	case !i.Open:
		return tx.Refuse(model.CodeConflict, "this import has ended")
	case b.Part > i.Next || b.Part >= i.Parts:
		return tx.Refuse(model.CodeConflict, "part %d of the import comes next, of %d, and this is part %d", i.Next, i.Parts, b.Part)
	case len(b.Jobs) > 0 && b.Jobs[0].ID < t.Settings.NextJob:
		return tx.Refuse(model.CodeInvalid, "job %s comes after job %s: numbers must rise from part to part", b.Jobs[0].ID, t.Settings.NextJob-1)
	}
	for n := range b.Jobs {
		if importJob(t, b, &b.Jobs[n]) {
			i.Jobs++
		} else {
			i.Left++
		}
	}
	i.Next++
	return command.Result{Number: uint64(i.Next)}
}

// importJob queues one job, unless it could never run: its deadline has passed, or it waits for the success
// of one that was left out.
func importJob(t *tx.Tx, b *command.ImportJobs, j *command.ImportedJob) bool {
	if r := jobs.InTime(t, &j.Spec); !r.OK() {
		return false
	}
	after, doomed := awaitable(t, j.After)
	if doomed {
		return false
	}
	script, env, stdin, shell := b.Text(j.Script), b.Text(j.Env), b.Text(j.Stdin), b.Text(j.SubmitEnv)
	i := &t.Settings.Import
	if i.Since = max(i.Since, min(t.Clock, j.Submitted)); j.Submitted == 0 {
		i.Since = t.Clock
	}
	job := model.Job{
		ID: j.ID, Spec: j.Spec, Tasks: j.Tasks, Throttle: j.Throttle, Submitted: i.Since, Index: t.Meta.Index,
		Script: jobs.KeepBlob(t, script), Env: jobs.KeepBlob(t, env), Stdin: jobs.KeepBlob(t, stdin), SubmitEnv: jobs.KeepBlob(t, shell),
	}
	job.Bytes = (&command.Submit{
		Spec: j.Spec, Script: script, Env: []string{env}, SubmitEnv: []string{shell}, Stdin: stdin, After: after,
		Tasks: j.Tasks,
	}).Bytes()
	held, _ := model.ParseIndices(j.Held) // none, if the text is empty; the body was validated
	jobs.Enqueue(t, &job, after, held, j.Note)
	return true
}

// awaitable returns the dependencies on jobs that are there. Those that are not were left out, and count as ended without
// success: doomed reports that the job would wait in vain.
func awaitable(t *tx.Tx, list []dependency.After) (after []dependency.After, doomed bool) {
	alternatives, lost, met := 0, 0, false
	for _, a := range list {
		there := t.Jobs.Has(a.Job)
		if a.Any {
			alternatives++
		}
		switch {
		case there:
			after = append(after, a)
		case a.Any && a.Kind.OfSuccess():
			lost++
		case a.Any:
			met = true
		case a.Kind.OfSuccess():
			return nil, true
		}
	}
	if met {
		after = slices.DeleteFunc(after, func(a dependency.After) bool { return a.Any })
	}
	return after, alternatives > 0 && lost == alternatives
}

// EndImport allows placements of the imported jobs. A repeated end changes nothing.
func EndImport(t *tx.Tx, b *command.EndImport) command.Result {
	i := &t.Settings.Import
	switch {
	case i.ID != b.ID:
		return tx.Refuse(model.CodeConflict, "there is no such import")
	case i.Open && i.Next < i.Parts && !b.Short:
		return tx.Refuse(model.CodeConflict, "the import has had %d of its %d parts: bring the others first", i.Next, i.Parts)
	case i.Open:
		i.Open, t.Settings.Standstill = false, false
	}
	return command.Result{Number: uint64(i.Next)}
}
