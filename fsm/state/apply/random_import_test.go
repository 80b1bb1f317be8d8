package apply

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

func drawBeginImport(g *gen) command.Body {
	return &command.BeginImport{ID: importID(g), Parts: uint32(3 + g.roll(10)/9)}
}

// importID returns that of the import that there is, most often.
func importID(g *gen) model.Hash {
	if id := g.s.Settings().Import.ID; !id.IsZero() && g.roll(8) > 0 {
		return id
	}
	return model.Hash{9, byte(1 + g.roll(2))}
}

// drawImport goes on with the import that is open.
func drawImport(g *gen) command.Body {
	if i := g.s.Settings().Import; i.Next < i.Parts {
		return drawImportJobs(g)
	}
	return drawEndImport(g)
}

func drawEndImport(g *gen) command.Body {
	return &command.EndImport{ID: importID(g), Short: g.roll(3) == 0}
}

func drawImportJobs(g *gen) command.Body {
	set := g.s.Settings()
	b := &command.ImportJobs{ID: importID(g), Part: set.Import.Next, Texts: []string{"#!/bin/sh\nmake\n", "A=1\x00B=2"}}
	if g.roll(6) == 0 {
		b.Part = uint32(g.roll(5))
	}
	id := set.NextJob
	for range 1 + g.roll(4) {
		id += model.JobID(g.roll(4))
		j := command.ImportedJob{
			ID: id, Script: uint32(g.roll(2)), Env: uint32(2 * g.roll(2)), Tasks: 1, Note: pick(g, "", "it was running"),
			Submitted: set.Clock.Add(time.Duration(g.roll(9)-7) * time.Hour),
			Spec: model.Spec{
				User: anybody(g), Project: pick(g, "", "vision"), Class: model.Class(1 + g.roll(4)), Command: "train", GPUs: uint32(1 + g.roll(4)),
				OnLost: model.OnLostRequeue, DisconnectGrace: 5 * time.Minute, Grace: 30 * time.Second, Held: g.roll(6) == 0,
			},
		}
		switch g.roll(5) {
		case 0:
			j.Spec.Deadline = set.Clock.Add(time.Duration(g.roll(3)-1) * time.Hour)
		case 1:
			j.Spec.Array, j.Tasks, j.Spec.Held, j.Held = "3,7-9", 4, false, pick(g, "", "8")
			j.Spec.Sweep, j.Throttle = pick(g, "", "seed=1..12"), uint32(g.roll(3))
		case 2:
			j.After = []dependency.After{{Job: max(1, id-1-model.JobID(g.roll(3))), Kind: dependency.Kind(1 + g.roll(5)), Any: g.roll(3) == 0}}
			if j.After[0].Job >= id {
				j.After = nil
			}
		}
		b.Jobs = append(b.Jobs, j)
		id++
	}
	return b
}
