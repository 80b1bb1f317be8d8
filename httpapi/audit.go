package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// audits returns the audit trail from this peer's archive.
type audits struct{ api *API }

// Bounds of the audit trail's answers.
const (
	archivePatience = 2 * time.Second  // for the archive to hold what the state does
	verifyLimit     = 25 * time.Second // for the whole trail; under that of an answer
)

// auditInput is the input of GET /audit.
type auditInput struct {
	Actor  string    `query:"actor" maxLength:"256" doc:"the actor: user:alice or alice, node:gpu1, peer:p2"`
	Target string    `query:"target" maxLength:"256" doc:"the target: 'job 17', with its tasks; 'node gpu1', 'user alice'"`
	Action string    `query:"action" maxLength:"64" doc:"a command's name, such as submit, cancel or set_policy"`
	Result string    `query:"result" maxLength:"64" doc:"ok, refused, or the code of a refusal"`
	Since  time.Time `query:"since" doc:"not before this time"`
	Until  time.Time `query:"until" doc:"not after this time"`
	Before uint64    `query:"before" doc:"records with smaller numbers: next of the previous page"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (a audits) route(doc huma.API) {
	o := op("audit", http.MethodGet, "/audit", "The record of all changes: actor, action, target, result; newest first")
	o.Description = "From the archive of the answering peer, which is complete up to complete_to."
	handle(a.api, doc, o, a.list)
	o = op("audit-refusals", http.MethodGet, "/audit/refusals", "Requests that the answering peer refused before they reached the log; newest first")
	o.Description = "Each peer keeps its own refusals: other peers do not have them, and next is valid at the same peer only."
	handle(a.api, doc, o, func(ctx context.Context, in *refusalsInput) (*answer[wire.Refusals], error) {
		return a.requests(ctx, in, a.api.peer.Refusals)
	})
	o = op("audit-reads", http.MethodGet, "/audit/reads", "Reads of other users' data at the answering peer; newest first")
	o.Description = "Output and commands of other users' jobs, and snapshots, with authentication. Each peer keeps the reads that it answered."
	handle(a.api, doc, o, func(ctx context.Context, in *refusalsInput) (*answer[wire.Refusals], error) {
		return a.requests(ctx, in, a.api.peer.Reads)
	})
	o = op("audit-verify", http.MethodGet, "/audit/verify", "Recompute the hashes of the audit trail and compare them with the cluster's state")
	handle(a.api, doc, o, func(ctx context.Context, _ *struct{}) (*answer[wire.AuditVerdict], error) { return a.verify(ctx) })
}

// archived waits until this peer's archive is complete up to the log index that last returns, and
// returns the state and the status of the archive.
func archived(ctx context.Context, a *API, last func(*state.State) uint64) (s state.State, stand archive.Standing, err error) {
	if a.peer.Archive == nil {
		return s, stand, refuse(wire.CodeNoArchive, "this peer keeps no archive: ask another")
	}
	if s, err = a.fresh(ctx, Default); err != nil {
		return s, stand, err
	}
	a.peer.Archive.Reach(ctx, last(&s), archivePatience)
	return s, a.peer.Archive.Standing(), nil
}

// standingOf converts the status of an archive to the API's form.
func standingOf(v *archive.Standing) wire.ArchiveStanding {
	return wire.ArchiveStanding{CompleteTo: v.CompleteTo, Failing: v.Failure != ""}
}

func lastRecord(s *state.State) uint64 { return s.Settings().Audit.Index }

// archiveFault returns the problem of an archive that cannot be read.
func archiveFault(err error) error {
	return &Fault{Code: wire.CodeNoArchive, Err: err}
}

func (a audits) list(ctx context.Context, in *auditInput) (*answer[wire.Audit], error) {
	s, stand, err := archived(ctx, a.api, lastRecord)
	if err != nil {
		return nil, err
	}
	f := archive.Filter{
		Actor: in.Actor, Target: in.Target, Kind: in.Action, Result: in.Result, Before: in.Before, Limit: in.Limit,
		Since: timeOf(in.Since), Until: timeOf(in.Until),
	}
	found, err := a.api.peer.Archive.Find(f)
	if err != nil {
		return nil, archiveFault(err)
	}
	out := &wire.Audit{
		Records: make([]wire.AuditRecord, len(found.Records)), Next: found.Next, ArchiveStanding: standingOf(&stand), Missing: stand.Missing, Lost: stand.Lost,
	}
	for i := range found.Records {
		out.Records[i] = auditRecord(&found.Records[i])
	}
	return &answer[wire.Audit]{Index: s.Index, Body: out}, nil
}

// refusalsInput is the input of GET /audit/refusals.
type refusalsInput struct {
	Actor  string    `query:"actor" maxLength:"256" doc:"the reader: user:alice or alice"`
	Code   string    `query:"code" maxLength:"64" doc:"of the refusal, such as denied or invalid"`
	Since  time.Time `query:"since" doc:"not before this time"`
	Until  time.Time `query:"until" doc:"not after this time"`
	Before uint64    `query:"before" doc:"older ones: next of the previous page, of the same peer"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (a audits) requests(ctx context.Context, in *refusalsInput, kept Refusals) (*answer[wire.Refusals], error) {
	if kept == nil {
		return nil, refuse(wire.CodeNoArchive, "this peer keeps no such records: ask another")
	}
	list, next, err := kept.Find(ctx, archive.RefusalFilter{
		Actor: in.Actor, Code: in.Code, Since: in.Since, Until: in.Until, Before: in.Before, Limit: in.Limit,
	})
	if err != nil {
		return nil, archiveFault(err)
	}
	out := &wire.Refusals{Peer: string(a.api.cfg.Self), Refusals: make([]wire.Refusal, len(list)), Next: next}
	for i := range list {
		out.Refusals[i] = wire.Refusal(list[i])
	}
	s := a.api.peer.Reader.State()
	return &answer[wire.Refusals]{Index: s.Index, Body: out}, nil
}

func timeOf(t time.Time) model.Time {
	if t.IsZero() {
		return 0
	}
	return model.TimeOf(t)
}

func auditRecord(r *model.AuditRecord) wire.AuditRecord {
	kind := command.Kind(r.Kind)
	return wire.AuditRecord{
		Seq: r.Seq, Index: r.Index, Time: r.At.Time(), Actor: r.Actor, From: r.From, Action: kind.String(), Target: r.Target,
		Request: r.Request, Result: r.Code.String(), Detail: r.Detail, Repeated: r.Repeat, ByPeer: r.By, What: whatOf(kind, r.Body),
	}
}

// whatOf converts a command's body to the API's form.
func whatOf(kind command.Kind, raw []byte) map[string]any {
	if len(raw) == 0 {
		return nil
	}
	body, err := command.ShownBody(kind, raw)
	if err != nil {
		return nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil
	}
	named, _ := snakes(tree).(map[string]any)
	return named
}

// snakes converts the names in a tree to the API's, and leaves out what is not set.
func snakes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range v {
			if field = snakes(field); field != nil {
				out[snake(name)] = field
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		for i := range v {
			v[i] = snakes(v[i])
		}
		return v
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// snake converts "GPUsPerJob" to "gpus_per_job".
func snake(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		inner := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) ||
			i+2 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsLower(runes[i+2]))
		if inner {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// verdictOf verifies records that this peer keeps; nil: it keeps none.
func verdictOf(ctx context.Context, kept Refusals) (*wire.RequestsVerdict, error) {
	if kept == nil {
		return nil, nil
	}
	v, err := kept.Verify(ctx)
	return &wire.RequestsVerdict{OK: v.Bad == 0, Records: v.Records, FirstBad: v.Bad, What: v.What}, err
}

func (a audits) verify(ctx context.Context) (*answer[wire.AuditVerdict], error) {
	s, _, err := archived(ctx, a.api, lastRecord)
	if err != nil {
		return nil, err
	}
	head := s.Settings().Audit
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	v, err := a.api.peer.Archive.Verify(ctx, head)
	if err != nil {
		return nil, archiveFault(err)
	}
	out := &wire.AuditVerdict{
		OK: v.Bad == 0 && v.What == "" && v.Missing == 0, Records: v.Records, Missing: v.Missing, FirstBad: v.Bad, What: v.What,
		Head: wire.AuditHead{Seq: head.Seq, Index: head.Index, Hash: head.Hash.String()}, Peer: string(a.api.cfg.Self),
	}
	if out.What == "" && v.Missing > 0 {
		out.What = "the records here are unchanged, but some of the trail is missing here"
	}
	if out.Refusals, err = verdictOf(ctx, a.api.peer.Refusals); err != nil {
		return nil, archiveFault(err)
	}
	if out.Reads, err = verdictOf(ctx, a.api.peer.Reads); err != nil {
		return nil, archiveFault(err)
	}
	return &answer[wire.AuditVerdict]{Index: s.Index, Body: out}, nil
}
