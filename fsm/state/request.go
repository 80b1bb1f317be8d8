package state

import (
	"encoding/hex"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// MaxRequests is how many request ids a state remembers.
const MaxRequests = 1_000_000

// once carries out a command that may come more than once. The first answer is
// remembered; the same request gets it again, and changes nothing.
func (t *tx) once(c *command.Command, apply applier) command.Result {
	key := model.RequestKey{Actor: c.Actor, ID: c.RequestID}
	if past, found := t.requests.get(key); found {
		if past.Kind != uint16(c.Kind()) || past.Body != c.BodyHash() {
			return refuse(model.CodeIdempotency, "request id %q was used for something else: use a new one", c.RequestID)
		}
		t.repeat = true
		return command.Result{Code: past.Code, Job: past.Job, Number: past.Number, Detail: past.Detail}
	}
	born := bornAt(c.RequestID, t.clock)
	switch {
	case born < t.settings.RequestsFrom:
		return refuse(model.CodeRequestExpired, "request id %q is older than what is remembered: look whether it was "+
			"carried out, then use a new id", c.RequestID)
	case t.requests.size() >= MaxRequests:
		return refuse(model.CodeRequestsFull, "%d request ids are remembered, no more fit: retry later", MaxRequests)
	}
	r := apply(t, c.Body)
	t.requests.put(model.Request{
		Key: key, Kind: uint16(c.Kind()), Body: c.BodyHash(), Born: born,
		Index: t.meta.Index, Code: r.Code, Job: r.Job, Number: r.Number, Detail: r.Detail,
	})
	return r
}

// bornAt reads the time in a UUIDv7 (RFC 9562, 48 bits of milliseconds); any
// other id is born now.
func bornAt(id string, now model.Time) model.Time {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7' || id[18] != '-' || id[23] != '-' {
		return now
	}
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil {
		return now
	}
	ms := int64(0)
	for _, v := range b[:6] {
		ms = ms<<8 | int64(v)
	}
	const nsPerMs = 1_000_000
	if ms > int64(now)/nsPerMs+int64(model.MaxDuration)/nsPerMs {
		return now // no clock is a year ahead: not a time
	}
	return model.Time(ms * nsPerMs)
}

func applyCutRequests(t *tx, b *command.CutRequests) command.Result {
	if b.Before > t.clock {
		return refuse(model.CodeInvalid, "the cut-off lies in the future")
	}
	t.settings.RequestsFrom = max(t.settings.RequestsFrom, b.Before)
	var old []model.RequestKey
	for k := range t.born.now().All() {
		if k.Born >= b.Before || len(old) == command.MaxCut {
			break
		}
		old = append(old, k.Request)
	}
	for _, k := range old {
		t.requests.delete(k)
	}
	return command.Result{Number: uint64(len(old))}
}
