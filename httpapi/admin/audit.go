package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// audits returns the audit trail from this peer's archive.
type audits struct{ api *core.API }

// verifyLimit bounds the time for the whole trail; it is under that of an answer.
const verifyLimit = 25 * time.Second

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
	o := core.Op("audit", http.MethodGet, "/audit", "The record of all changes: actor, action, target, result; newest first")
	o.Description = "From the archive of the answering peer, which is complete up to complete_to."
	core.Handle(a.api, doc, o, a.list)
	o = core.Op("audit-refusals", http.MethodGet, "/audit/refusals", "Requests that the answering peer refused before they reached the log; newest first")
	o.Description = "Each peer keeps its own refusals: other peers do not have them, and next is valid at the same peer only."
	core.Handle(a.api, doc, o, func(ctx context.Context, in *refusalsInput) (*core.Answer[wire.Refusals], error) {
		return a.requests(ctx, in, a.api.Peer.Refusals)
	})
	o = core.Op("audit-reads", http.MethodGet, "/audit/reads", "Reads of other users' data at the answering peer; newest first")
	o.Description = "Output and commands of other users' jobs, and snapshots, with authentication. Each peer keeps the reads that it answered."
	core.Handle(a.api, doc, o, func(ctx context.Context, in *refusalsInput) (*core.Answer[wire.Refusals], error) {
		return a.requests(ctx, in, a.api.Peer.Reads)
	})
	o = core.Op("audit-verify", http.MethodGet, "/audit/verify", "Recompute the hashes of the audit trail and compare them with the cluster's state")
	core.Handle(a.api, doc, o, func(ctx context.Context, _ *struct{}) (*core.Answer[wire.AuditVerdict], error) { return a.verify(ctx) })
}

func lastRecord(s *state.State) uint64 { return s.Settings().Audit.Index }

func (a audits) list(ctx context.Context, in *auditInput) (*core.Answer[wire.Audit], error) {
	s, stand, err := core.Archived(ctx, a.api, lastRecord)
	if err != nil {
		return nil, err
	}
	f := archive.Filter{
		Actor: in.Actor, Target: in.Target, Kind: in.Action, Result: in.Result, Before: in.Before, Limit: in.Limit,
		Since: view.TimeOf(in.Since), Until: view.TimeOf(in.Until),
	}
	found, err := a.api.Peer.Archive.Find(f)
	if err != nil {
		return nil, core.ArchiveFault(err)
	}
	out := &wire.Audit{
		Records: make([]wire.AuditRecord, len(found.Records)), Next: found.Next, ArchiveStanding: view.Standing(&stand), Missing: stand.Missing,
		Lost: stand.Lost,
	}
	for i := range found.Records {
		out.Records[i] = view.AuditRecord(&found.Records[i])
	}
	return &core.Answer[wire.Audit]{Index: s.Index, Body: out}, nil
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

func (a audits) requests(ctx context.Context, in *refusalsInput, kept port.Refusals) (*core.Answer[wire.Refusals], error) {
	list, next, err := kept.Find(ctx, archive.RefusalFilter{
		Actor: in.Actor, Code: in.Code, Since: in.Since, Until: in.Until, Before: in.Before, Limit: in.Limit,
	})
	if err != nil {
		return nil, core.ArchiveFault(err)
	}
	out := &wire.Refusals{Peer: string(a.api.Config.Self), Refusals: make([]wire.Refusal, len(list)), Next: next}
	for i := range list {
		out.Refusals[i] = wire.Refusal(list[i])
	}
	s := a.api.State()
	return &core.Answer[wire.Refusals]{Index: s.Index, Body: out}, nil
}

func (a audits) verify(ctx context.Context) (*core.Answer[wire.AuditVerdict], error) {
	s, _, err := core.Archived(ctx, a.api, lastRecord)
	if err != nil {
		return nil, err
	}
	head := s.Settings().Audit
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	v, err := a.api.Peer.Archive.Verify(ctx, head)
	if err != nil {
		return nil, core.ArchiveFault(err)
	}
	out := &wire.AuditVerdict{
		OK: v.Bad == 0 && v.What == "" && v.Missing == 0, Records: v.Records, Missing: v.Missing, FirstBad: v.Bad, What: v.What,
		Head: wire.AuditHead{Seq: head.Seq, Index: head.Index, Hash: head.Hash.String()}, Peer: string(a.api.Config.Self),
	}
	if out.What == "" && v.Missing > 0 {
		out.What = "the records here are unchanged, but some of the trail is missing here"
	}
	if out.Refusals, err = verdictOf(ctx, a.api.Peer.Refusals); err != nil {
		return nil, core.ArchiveFault(err)
	}
	if out.Reads, err = verdictOf(ctx, a.api.Peer.Reads); err != nil {
		return nil, core.ArchiveFault(err)
	}
	return &core.Answer[wire.AuditVerdict]{Index: s.Index, Body: out}, nil
}
