package core

import (
	"github.com/danielgtaylor/huma/v2"

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
