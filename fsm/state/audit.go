package state

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// maxAuditText bounds each text of an audit record, in bytes: a command that could
// not be read may hold any.
const maxAuditText = 256

// AuditLink is one record of the audit trail, encoded, and the trail's heads before and with it.
type AuditLink struct {
	Before model.Hash
	Head   model.AuditHead
	Record []byte
}

// ChainAudit returns the hash of a trail after a further record: SHA-256 over the hash
// before and the record's bytes.
func ChainAudit(before model.Hash, record []byte) model.Hash {
	h := sha256.New()
	h.Write(before[:])
	h.Write(record)
	return model.Hash(h.Sum(nil))
}

// DecodeAudit decodes a record's bytes. An *[command.UnknownError] means a newer program's record.
func DecodeAudit(data []byte) (r model.AuditRecord, err error) {
	if err = rows.dec.Unmarshal(data, &r); err == nil {
		return r, nil
	}
	if isUnknownField(err) {
		return r, &command.UnknownError{What: "a field of an audit record"}
	}
	return r, fmt.Errorf("%w: an audit record: %w", ErrCorrupt, err)
}

// audit moves the trail's head over the entry's commands, in order.
func (t *tx) audit(commands []command.Command, results []command.Result) (links []AuditLink) {
	if t.settings.Incarnation.IsZero() {
		return nil
	}
	head := t.settings.Audit
	for i := range commands {
		c, r := &commands[i], &results[i]
		if !c.Kind().Audited() {
			continue
		}
		record := auditRecord(c, r)
		record.Seq, record.Index, record.At, record.By = head.Seq+1, t.meta.Index, t.clock, clipAudit(t.meta.By)
		record.Repeat = slices.Contains(t.repeats, i)
		data, err := rows.plain.Marshal(record)
		if err != nil { // a plain struct: it cannot be, and were it, every peer would chain the same bytes
			data = []byte(err.Error())
		}
		before := head.Hash
		head = model.AuditHead{Seq: record.Seq, Index: t.meta.Index, Hash: ChainAudit(before, data)}
		links = append(links, AuditLink{before, head, data})
	}
	t.settings.Audit = head
	return links
}

func auditRecord(c *command.Command, r *command.Result) model.AuditRecord {
	target := c.Target()
	if r.Job != 0 && r.OK() {
		target = command.TargetJob(r.Job)
	}
	return model.AuditRecord{
		Actor: clipAudit(c.Actor), From: clipAudit(c.From), Kind: uint16(c.Kind()), Target: clipAudit(target),
		Request: clipAudit(c.RequestID), Body: c.Shown(), Code: r.Code, Detail: clipAudit(r.Detail),
	}
}

func clipAudit(text string) string {
	if len(text) <= maxAuditText {
		return text
	}
	return strings.ToValidUTF8(text[:maxAuditText], "")
}
