package view

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Standing converts the status of an archive to the API's form.
func Standing(v *archive.Standing) wire.ArchiveStanding {
	return wire.ArchiveStanding{CompleteTo: v.CompleteTo, Failing: v.Failure != ""}
}

// TimeOf converts a time of a request; the zero time counts as none.
func TimeOf(t time.Time) model.Time {
	if t.IsZero() {
		return 0
	}
	return model.TimeOf(t)
}

// AuditRecord converts a record of the audit trail to the API's form.
func AuditRecord(r *model.AuditRecord) wire.AuditRecord {
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
		for name, field := range v { // order-free: a map again
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

// Delivery converts the delivery of a notice to the API's form.
func Delivery(d *outbox.Delivery) wire.Delivery {
	e := notify.EventOf(&d.Notice)
	return wire.Delivery{
		ID: notify.MessageID(d), To: string(d.Key.Outlet), EventID: e.ID, Type: e.Type, Target: e.Target, At: e.Timestamp,
		State: d.State.String(), Tries: int64(d.Tries), LastTry: d.Last.Time(), NextTry: d.Next.Time(), Status: int64(d.Status),
		Error: d.Error, TookMilli: d.Took.Milliseconds(),
	}
}
