package jobs

import (
	"crypto/sha256"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Retire removes all of the jobs or none.
func Retire(t *tx.Tx, b *command.Retire) command.Result {
	if b.ArchivedTo > t.From.Index {
		return tx.Refuse(model.CodeConflict, "archived is said to be up to %d, which is not there yet", b.ArchivedTo)
	}
	for _, id := range b.Jobs {
		j, found := t.Jobs.Get(id)
		switch {
		case !found:
			return tx.Refuse(model.CodeNotFound, "job %s is not there", id)
		case j.Open > 0:
			return tx.Refuse(model.CodeConflict, "job %s has not ended", id)
		case j.EndIndex > b.ArchivedTo:
			return tx.Refuse(model.CodeConflict, "job %s ended at %d, archived is up to %d", id, j.EndIndex, b.ArchivedTo)
		case ownsSlots(t, id):
			return tx.Refuse(model.CodeConflict, "GPUs of job %s have not been shown clean", id)
		case tx.IsAwaited(t, id):
			return tx.Refuse(model.CodeConflict, "others wait for job %s", id)
		}
	}
	for _, id := range b.Jobs {
		forgetJob(t, id)
	}
	t.Retired = append(t.Retired, b.Jobs...)
	t.Settings.ArchivedTo = max(t.Settings.ArchivedTo, b.ArchivedTo)
	return command.Result{Number: uint64(len(b.Jobs))}
}

// ownsSlots reports whether any attempt of the job still holds a slot, even if only until it is clean.
func ownsSlots(t *tx.Tx, id model.JobID) bool {
	for k := range t.Owners.Now().From(state.OwnerKey{Rank: model.RankKey{Job: id}}) {
		return k.Rank.Job == id
	}
	return false
}

func forgetJob(t *tx.Tx, id model.JobID) {
	j, found := t.Jobs.Get(id)
	if !found {
		return
	}
	for _, k := range tx.KeysOf(t.Events.Now().From(model.EventKey{Job: id}), func(k model.EventKey) bool { return k.Job == id }) {
		t.Events.Delete(k)
	}
	for _, k := range tx.KeysOf(t.Ranks.Now().From(model.RankKey{Job: id}), func(k model.RankKey) bool { return k.Job == id }) {
		tx.ForgetRank(t, k)
	}
	for _, k := range tx.KeysOf(t.Attempts.Now().From(model.AttemptKey{Job: id}), func(k model.AttemptKey) bool { return k.Job == id }) {
		t.Attempts.Delete(k)
	}
	for _, k := range tx.KeysOf(t.Tasks.Now().From(model.TaskKey{Job: id}), func(k model.TaskKey) bool { return k.Job == id }) {
		t.Tasks.Delete(k)
	}
	for _, d := range tx.DependenciesOf(t, id) {
		t.Dependencies.Delete(d.Key)
	}
	dropTexts(t, &j)
	t.Jobs.Delete(id)
}

// Purge removes what an ended job ran with.
func Purge(t *tx.Tx, b *command.Purge) command.Result {
	j, found := t.Jobs.Get(b.Job)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "job %s is not there, or ended so long ago that neither its script nor its environment is kept", b.Job)
	case j.Open > 0:
		return tx.Refuse(model.CodeConflict, "job %s has not ended, and needs its script and its environment until then: cancel it first", b.Job)
	case j.Purged > 0:
		return command.Result{Job: b.Job}
	}
	dropTexts(t, &j)
	j.Script, j.Env, j.Stdin, j.SubmitEnv, j.Purged = model.Hash{}, model.Hash{}, model.Hash{}, model.Hash{}, t.Clock
	t.Jobs.Put(j)
	return command.Result{Job: b.Job}
}

func dropTexts(t *tx.Tx, j *model.Job) {
	for _, h := range []model.Hash{j.Script, j.Env, j.Stdin, j.SubmitEnv} {
		dropBlob(t, h)
	}
}

// KeepBlob stores data that jobs share, and counts one more user of the data.
func KeepBlob(t *tx.Tx, data string) model.Hash {
	if data == "" {
		return model.Hash{}
	}
	blob := model.Blob{Hash: sha256.Sum256([]byte(data)), Data: data}
	if known, found := t.Blobs.Get(blob.Hash); found {
		blob = known
	}
	blob.Refs++
	t.Blobs.Put(blob)
	return blob.Hash
}

func dropBlob(t *tx.Tx, h model.Hash) {
	blob, found := t.Blobs.Get(h)
	switch {
	case !found:
	case blob.Refs <= 1:
		t.Blobs.Delete(h)
	default:
		blob.Refs--
		t.Blobs.Put(blob)
	}
}
