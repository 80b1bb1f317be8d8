package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Reservations returns all reservations, and their limits.
func (c Operator) Reservations(ctx context.Context) (*wire.Reservations, error) {
	out := &wire.Reservations{}
	_, err := c.client.calls.json(ctx, &request{method: http.MethodGet, path: "/reservations"}, out)
	return out, err
}

// Reserve reserves GPUs for a user or a project, or nodes for maintenance.
func (c Operator) Reserve(ctx context.Context, body *wire.Reserve) (*wire.Reserved, error) {
	out := &wire.Reserved{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPost, path: "/reservations"}, body, out)
}

// CancelReservation ends a reservation or a maintenance.
func (c Operator) CancelReservation(ctx context.Context, id, note string) (*wire.Reserved, error) {
	v := url.Values{}
	text(v, "note", note)
	out := &wire.Reserved{}
	q := &request{method: http.MethodDelete, path: "/reservations/" + url.PathEscape(id), query: v}
	return out, c.client.calls.change(ctx, q, nil, out)
}

// SetReservationLimits limits what may be reserved.
func (c Operator) SetReservationLimits(ctx context.Context, body *wire.SetReservationLimits) (*wire.Reservations, error) {
	out := &wire.Reservations{}
	return out, c.client.calls.change(ctx, &request{method: http.MethodPut, path: "/reservations/limits"}, body, out)
}
