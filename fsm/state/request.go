package state

import "github.com/berth-gpu/berth/fsm/model"

// Request returns the row of a request id, if the command was carried out and the id is still remembered.
func (s *State) Request(actor, id string) (model.Request, bool) {
	parsed := model.ParseRequestID(id)
	return RequestFrom(s.Requests.Get, actor, &parsed)
}

// RequestFrom looks for an id under its time and, as its time may have been too far ahead,
// without one.
func RequestFrom(get func(model.RequestKey) (model.Request, bool), actor string, id *model.RequestID) (model.Request, bool) {
	key := model.RequestKey{Actor: actor, Drawn: id.Drawn, ID: id.Hash}
	past, found := get(key)
	if !found && key.Drawn != 0 {
		key.Drawn = 0
		past, found = get(key)
	}
	return past, found
}

// OldestRequest returns when the oldest request id that is remembered was born; false if there
// is none.
func (s *State) OldestRequest() (at model.Time, found bool) {
	for _, from := range []BornKey{{}, FirstTimed} {
		for k := range s.Born.From(from) {
			if !found || k.Born < at {
				at, found = k.Born, true
			}
			break
		}
	}
	return at, found
}
