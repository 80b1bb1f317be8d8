package members

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// backupInput is the input of GET /cluster/backup.
type backupInput struct {
	Recipients []string `query:"recipient,explode" maxItems:"16" doc:"recipient of age (age1...) that can open the keys of the cluster in the backup; without one the backup has no keys"`
}

// archiveLimit bounds the wait for the archive of the answering peer.
const archiveLimit = 5 * time.Second

// backupRoute adds the paths for backups and after a restore.
func (m members) backupRoute(doc huma.API) {
	core.Handle(m.api, doc, core.Op("resume", http.MethodPost, "/cluster/resume", "Let the scheduler start jobs again, after a restore"), m.resume)
	o := core.Op("backup", http.MethodGet, "/cluster/backup", "A backup of the cluster")
	o.Description = "A tar archive that is compressed with zstd: the state as of a barrier in the log, the archive of this peer, and the keys of the cluster, sealed with age for the recipients. " +
		"It contains users' commands and environments. The last two parts are the hashes of the others (SHA256SUMS), without which a file is incomplete, and the signature of this peer: berth backup verify checks both."
	o.Responses = map[string]*huma.Response{
		"200":     {Description: "the backup", Content: map[string]*huma.MediaType{backupType: {Schema: &huma.Schema{Type: "string"}}}},
		"default": core.ProblemResponse(doc),
	}
	huma.Register(doc, o, func(ctx context.Context, in *backupInput) (*core.LogOutput, error) {
		to, err := backup.ForRecipients(in.Recipients...)
		if err != nil {
			return nil, problem.Of(m.api.Log, problem.Invalid("recipient", err.Error()))
		}
		source, err := BackupSource(m.api)(ctx)
		if err != nil {
			return nil, problem.Of(m.api.Log, err)
		}
		return &core.LogOutput{Body: func(c huma.Context) {
			_, w := humamux.Unwrap(c)
			w.Header().Set("Content-Type", backupType)
			w.Header().Set("Content-Disposition", `attachment; filename="`+backup.FileName(source.Describe(&to))+`"`)
			if err := backup.Write(steady{w, http.NewResponseController(w)}, source, &to); err != nil {
				m.api.Log.Warn("backup_broken_off", "err", err)
				core.Cut(w) // so that the answer does not look complete
			}
		}}, nil
	})
}

// resume ends the standstill after a restore. Jobs that would run a second time are in the way, unless the caller forces it.
func (m members) resume(ctx context.Context, in *resumeInput) (*core.Answer[wire.Gone], error) {
	s := m.api.State()
	set := s.Settings()
	if twice := runningAndWaiting(&s); len(twice) > 0 && set.Standstill && !in.Force {
		return nil, problem.Refuse(model.CodeConflict.String(), "jobs wait here and run on nodes, unknown to this state, and would be started a second time: "+
			strings.Join(twice, ", ")+": berth node adopt NODE or berth node kill NODE first, or berth cluster resume --force")
	}
	if away := notBack(&s); len(away) > 0 && set.Standstill && !set.Import.Open && !in.Force {
		return nil, problem.Refuse(model.CodeConflict.String(), "nodes are not in contact yet, and may run jobs that wait here, which would be started a second time: "+
			strings.Join(away, ", ")+": wait for them (berth nodes), confirm that they are dead (berth node confirm-dead), or berth cluster resume --force")
	}
	_, index, err := m.api.Propose(ctx, in.Key, &command.Resume{})
	if err != nil {
		return nil, err
	}
	text := "jobs are started again"
	switch {
	case !set.Running:
		text = "the standstill has ended, and the scheduler is stopped: berth orchestrator start"
	case !set.Standstill:
		text = "nothing was changed: there is no standstill"
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// resumeInput is the input of POST /cluster/resume.
type resumeInput struct {
	Key   string `header:"Idempotency-Key"`
	Force bool   `query:"force" doc:"also if jobs that wait run on nodes, unknown to the state, or nodes are not in contact yet: such jobs are started a second time"`
}

// runningAndWaiting lists tasks that wait, although an attempt of theirs that the state does not know runs on a node.
func runningAndWaiting(s *state.State) (out []string) {
	for _, slot := range s.Slots.All() {
		if slot.Owner != model.OwnerForeign {
			continue
		}
		key := slot.Rank.Attempt().TaskKey()
		text := key.String() + " on node " + string(slot.Node)
		if task, _ := s.Tasks.Get(key); task.State == model.TaskQueued && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// notBack lists nodes that were in contact when the backup was made, and are not since the restore.
func notBack(s *state.State) (out []string) {
	for id, n := range s.Nodes.All() {
		if n.Status == model.NodeSuspect {
			out = append(out, string(id))
		}
	}
	return out
}

// backupType is the media type of backups (RFC 8878).
const backupType = "application/zstd"

// steady writes an answer of any length to a client that reads all the time.
type steady struct {
	w       io.Writer
	control *http.ResponseController
}

func (s steady) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(core.WriteLimit)) // a writer without deadlines has no slow client
	return s.w.Write(b)
}

// BackupSource returns what makes a source of backups: this peer's state as of a barrier, and its archive.
func BackupSource(a *core.API) func(ctx context.Context) (*backup.Source, error) {
	return func(ctx context.Context) (*backup.Source, error) {
		if a.Config.Authority == nil || a.Config.Trusted == nil {
			return nil, problem.Refuse(model.CodeUnavailable.String(), "this peer has no keys, and makes no backups")
		}
		s, err := a.Fresh(ctx, peer.Linearizable)
		if err != nil {
			return nil, err
		}
		if !a.Peer.Archive.Reach(ctx, s.Index, archiveLimit) {
			a.Log.Warn("backup_archive_behind", "index", s.Index, "complete_to", a.Peer.Archive.Standing().CompleteTo, "remedy", "the backup has what the archive has; berth peers shows why it is behind")
		}
		known, err := a.Config.Trusted()
		if err != nil {
			return nil, err
		}
		secrets, err := a.Config.Authority.Secrets()
		if err != nil {
			return nil, err
		}
		cluster, _ := a.Config.Authority.About()
		return &backup.Source{
			State: &s, Archive: a.Peer.Archive, ArchivedTo: a.Peer.Archive.Standing().CompleteTo, Peer: string(a.Config.Self),
			Version: a.Config.Version,
			Now:     a.Config.Now(), Cluster: cluster, Trust: known, Secrets: secrets,
		}, nil
	}
}
