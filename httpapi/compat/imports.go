package compat

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// imports fills an empty cluster from state files, step by step: begin, its jobs in parts, its
// settings, the end. Each step may be sent again, to any peer.
type imports struct{ api *core.API }

// importInput is the input of a step of an import.
type importInput struct {
	Key    string `header:"Idempotency-Key"`
	DryRun bool   `query:"dry_run" doc:"only check whether it is allowed; nothing is changed"`

	core.Raw
}

func (a imports) route(doc huma.API) {
	importStep(a, doc, "", "Begin an import into an empty cluster, or continue it", a.begin)
	importStep(a, doc, "/jobs", "Import one part of the jobs", a.jobs)
	importStep(a, doc, "/settings", "Import settings, users and quotas", a.settings)
	importStep(a, doc, "/end", "End an import: the imported jobs may start", a.end)
}

func importStep[B any](a imports, doc huma.API, path, what string,
	do func(context.Context, *importInput, *B) (*core.Answer[wire.Imported], error),
) {
	name := "import"
	if path != "" {
		name += "-" + path[1:]
	}
	core.HandleBody(a.api, doc, core.Op(name, http.MethodPost, "/snapshot/import"+path, what), do)
}

func importID(text string) (id model.Hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, problem.Invalid("import_id", "must be a SHA-256 in hex: 64 digits")
	}
	return model.Hash(raw), nil
}

func (a imports) begin(ctx context.Context, in *importInput, b *wire.BeginImport) (*core.Answer[wire.Imported], error) {
	id, err := importID(b.ImportID)
	if err != nil {
		return nil, err
	}
	parts, err := intake.Count("parts", b.Parts, 0, model.MaxImportParts, 0)
	if err != nil {
		return nil, err
	}
	return a.carry(ctx, in, &command.BeginImport{ID: id, Parts: parts})
}

// carry carries out a command; that of a dry run on a copy of the state only.
func (a imports) carry(ctx context.Context, in *importInput, body command.Body) (*core.Answer[wire.Imported], error) {
	if !in.DryRun {
		_, index, err := a.api.Propose(ctx, in.Key, body)
		if err != nil {
			return nil, err
		}
		s := a.api.State()
		return &core.Answer[wire.Imported]{Index: index, Body: importOf(&s)}, nil
	}
	c, err := command.New(core.ClipActor(auth.From(ctx).Actor()), body)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	at := state.Meta{Index: s.Index + 1, Term: s.Term, At: s.Settings().Clock, By: string(a.api.Config.Self)}
	_, results, _ := apply.Apply(s, at, []command.Command{c})
	if !results[0].OK() {
		return nil, problem.Refused(&results[0])
	}
	out := importOf(&s)
	out.DryRun = true
	return &core.Answer[wire.Imported]{Index: s.Index, Body: out}, nil
}

// importOf returns the progress of an import.
func importOf(s *state.State) *wire.Imported {
	i := s.Settings().Import
	out := &wire.Imported{
		Success: true, State: "none", Parts: int64(i.Parts), Next: int64(i.Next), Jobs: int64(i.Jobs), Left: int64(i.Left),
	}
	switch {
	case i.Open:
		out.State = "open"
	case !i.ID.IsZero():
		out.State = "ended"
	}
	return out
}

func (a imports) jobs(ctx context.Context, in *importInput, b *wire.ImportJobs) (*core.Answer[wire.Imported], error) {
	id, err := importID(b.ImportID)
	if err != nil {
		return nil, err
	}
	n, err := intake.Count("part", b.Part, 0, model.MaxImportParts-1, 0)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	r := intake.NewReader(a.api.Basis(ctx, &s), b)
	if err := r.All(b); err != nil {
		return nil, err
	}
	body := &command.ImportJobs{ID: id, Part: n, Texts: r.Texts, Jobs: r.Jobs}
	out := &wire.Imported{Success: true, DryRun: true, State: "none", Jobs: int64(len(r.Jobs))}
	index := s.Index
	if in.DryRun {
		if _, err := command.New("", body); err != nil {
			return nil, a.tooLarge(err)
		}
	} else {
		if _, index, err = a.api.Propose(ctx, in.Key, body); err != nil {
			return nil, a.tooLarge(err)
		}
		s = a.api.State()
		out = importOf(&s)
	}
	out.Again, out.Ended = r.Again, r.Ended
	return &core.Answer[wire.Imported]{Index: index, Body: out}, nil
}

func (imports) tooLarge(err error) error {
	if errors.Is(err, command.ErrTooLarge) {
		return problem.Refuse(wire.CodeTooLarge, "these jobs exceed the size of one log entry: send fewer in a part")
	}
	return err
}

func (a imports) end(ctx context.Context, in *importInput, b *wire.EndImport) (*core.Answer[wire.Imported], error) {
	short := intake.Or(b.Short, false)
	if b.ImportID == "" && short {
		s := a.api.State()
		return a.endOpen(ctx, in, &s)
	}
	id, err := importID(b.ImportID)
	if err != nil {
		return nil, err
	}
	return a.carry(ctx, in, &command.EndImport{ID: id, Short: short})
}

// endOpen ends the open import, if there is one.
func (a imports) endOpen(ctx context.Context, in *importInput, s *state.State) (*core.Answer[wire.Imported], error) {
	open := s.Settings().Import
	if !open.Open {
		return nil, problem.Refuse(model.CodeConflict.String(), "no import is open")
	}
	return a.carry(ctx, in, &command.EndImport{ID: open.ID, Short: true})
}

// settings changes the values in the body, all of them in one log entry.
func (a imports) settings(ctx context.Context, in *importInput, b *wire.ImportSettings) (*core.Answer[wire.Imported], error) {
	id, err := importID(b.ImportID)
	if err != nil {
		return nil, err
	}
	set, err := intake.Settings(b.Settings)
	if err != nil {
		return nil, problem.Under("settings", err)
	}
	s := a.api.State()
	bodies, err := intake.Changes(&intake.Current{Settings: s.Settings(), Queued: s.Allocations.Has}, set)
	if err != nil {
		return nil, problem.Under("settings", err)
	}
	if open := s.Settings().Import; !in.DryRun && (!open.Open || open.ID != id) {
		return nil, problem.Refuse(model.CodeConflict.String(), "no such import is open: begin it first")
	}
	var commands []command.Command
	for _, body := range bodies {
		c, err := command.New(core.ClipActor(auth.From(ctx).Actor()), body)
		if err != nil {
			return nil, problem.Under("settings", problem.Of(a.api.Log, err))
		}
		commands = append(commands, c.FromClient(core.Proposing(ctx)))
	}
	out := &core.Answer[wire.Imported]{Index: s.Index, Body: importOf(&s)}
	if out.Body.DryRun = in.DryRun; in.DryRun || len(commands) == 0 {
		return out, nil
	}
	results, index, err := a.api.Peer.Proposer.Propose(ctx, commands...)
	if err != nil {
		return nil, problem.Unsure(err)
	}
	for i := range results {
		if !results[i].OK() {
			return nil, problem.Refused(&results[i])
		}
	}
	out.Index = index
	return out, nil
}
