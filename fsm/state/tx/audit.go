package tx

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// maxAuditText bounds each text of an audit record, in bytes: a command that could
// not be read may hold any.
const maxAuditText = 256

// Audit moves the trail's head over the entry's commands, in order.
func (t *Tx) Audit(commands []command.Command, results []command.Result) (links []state.AuditLink) {
	if t.Settings.Incarnation.IsZero() {
		return nil
	}
	head := t.Settings.Audit
	for i := range commands {
		c, r := &commands[i], &results[i]
		if !c.Kind().Audited() {
			continue
		}
		record := auditRecord(c, r)
		record.Seq, record.Index, record.At, record.By = head.Seq+1, t.Meta.Index, t.Clock, clipAudit(t.Meta.By)
		record.Repeat = slices.Contains(t.Repeats, i)
		data, err := digest.Rows.Plain.Marshal(record)
		if err != nil { // a plain struct: it cannot be, and were it, every peer would chain the same bytes
			data = []byte(err.Error())
		}
		before := head.Hash
		head = model.AuditHead{Seq: record.Seq, Index: t.Meta.Index, Hash: state.ChainAudit(before, data)}
		links = append(links, state.AuditLink{Before: before, Head: head, Record: data})
	}
	t.Settings.Audit = head
	return links
}

func auditRecord(c *command.Command, r *command.Result) model.AuditRecord {
	about := c.Target()
	if r.Job != 0 && r.OK() {
		about = command.TargetJob(r.Job)
	}
	return model.AuditRecord{
		Actor: clipAudit(c.Actor), From: clipAudit(c.From), Kind: uint16(c.Kind()), Target: clipAudit(about),
		Request: clipAudit(c.RequestID), Body: c.Shown(), Code: r.Code, Detail: clipAudit(r.Detail),
	}
}

func clipAudit(text string) string {
	if len(text) <= maxAuditText {
		return text
	}
	return strings.ToValidUTF8(text[:maxAuditText], "")
}
