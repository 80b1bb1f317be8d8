package core

import (
	"maps"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// durationSchema describes wire.Duration.
type durationSchema struct{}

// Schema is a number of seconds or a text.
func (durationSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: huma.TypeNumber}, {Type: huma.TypeString}},
		Description: `seconds, or text such as "90s", "1h30m", "2d" or "1:30:00"`,
	}
}

// tuningSchema describes wire.Tuning.
type tuningSchema struct{}

// Schema is an object of texts, numbers and booleans.
func (tuningSchema) Schema(huma.Registry) *huma.Schema {
	value := &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}, {Type: huma.TypeBoolean}}}
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: value}
}

// anySchema describes JSON of any kind.
type anySchema struct{}

// Schema allows everything.
func (anySchema) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// countSchema, amountSchema and switchSchema describe wire.OrNone.
type (
	countSchema  struct{}
	amountSchema struct{}
	switchSchema struct{}
)

// Schema returns that of a whole number or "none".
func (countSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeInteger, "0 or more, or none")
}

// Schema returns that of a number or "none".
func (amountSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeNumber, "0 or more, or none")
}

// Schema returns that of true, false or "none".
func (switchSchema) Schema(huma.Registry) *huma.Schema {
	return orNone(huma.TypeBoolean, "true, false or none")
}

func orNone(kind, what string) *huma.Schema {
	return &huma.Schema{
		OneOf:       []*huma.Schema{{Type: kind}, {Type: huma.TypeString, Enum: []any{wire.None}}},
		Description: what,
	}
}

// The extensions of the OpenAPI document: the least role of an operation's callers, whether those below operator may call it for their own
// jobs only, and what the codes of a text mean in words.
const (
	extRole  = "x-berth-role"
	extOwn   = "x-berth-own"
	extWords = "x-words"
)

// describeRights adds to an operation what it requires of its callers.
func describeRights(o *huma.Operation) {
	rule, known := auth.Find(o.Method, o.Path)
	if !known {
		return
	}
	if o.Extensions == nil {
		o.Extensions = map[string]any{}
	}
	o.Extensions[extRole] = rule.Least.String()
	if rule.Own {
		o.Extensions[extOwn] = true
	}
}

// describeReasons adds to the reasons of jobs and to the codes of blockers what they mean in words.
func describeReasons(schemas huma.Registry) {
	all := schemas.Map()
	words := view.ReasonWords()
	if b := all["Blocker"]; b != nil {
		b.Properties["code"].Extensions = map[string]any{extWords: maps.Clone(words)}
	}
	maps.Copy(words, view.EndWords())
	for _, name := range []string{"Job", "Detail", "EndedJob", "Task", "Attempt"} {
		for _, field := range []string{"reason", "end_reason"} {
			if s := all[name]; s != nil && s.Properties[field] != nil {
				s.Properties[field].Extensions = map[string]any{extWords: words}
			}
		}
	}
}
