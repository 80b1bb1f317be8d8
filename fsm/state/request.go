package state

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of the request ids that a state remembers.
const (
	MaxRequests        = 400_000 // of all actors
	MaxRequestsOf      = 20_000  // of one actor; half as many without a time
	MaxRequestsUntimed = 200_000 // of all actors, ids without a time
	maxRequestActors   = 50_000  // actors whose ids are counted
)

// requestBounds are the bounds above; tests use smaller ones.
type requestBounds struct{ all, actor, untimed, actors int }

func standardBounds() requestBounds {
	return requestBounds{MaxRequests, MaxRequestsOf, MaxRequestsUntimed, maxRequestActors}
}

// once carries out a command that may arrive more than once. When the command arrives again after it was
// carried out, once returns the first result and changes nothing. A refused command is not remembered, so
// that it is judged again when it arrives again.
//
// Ids never run out for actors that use UUIDv7: an actor at its share, or at a time when no more ids fit,
// makes room by forgetting the oldest id that has a time. Forgetting is safe, since the id's actor is refused
// older ids from then on. Ids without a time cannot be distinguished from new ones after they are forgotten;
// they are kept for model.RequestKept, and more of them are refused at the share.
func (t *tx) once(c *command.Command, apply applier) command.Result {
	id := model.ParseRequestID(c.RequestID)
	if past, found := findRequest(t.requests.get, c.Actor, &id); found {
		if past.Kind != uint16(c.Kind()) || past.Body != c.BodyHash() {
			return refuse(model.CodeIdempotency, "request id %q was used for something else: use a new one", c.RequestID)
		}
		t.repeat = true
		return command.Result{Job: past.Job, Number: past.Number}
	}
	row := model.Request{
		Key: model.RequestKey{Actor: c.Actor, ID: id.Hash}, Kind: uint16(c.Kind()), Body: c.BodyHash(), Born: t.clock, Index: t.meta.Index,
	}
	if id.Drawn > 0 && id.Drawn.Sub(t.clock) <= maxAhead { // a later time is no time: the row could not be cut until then
		row.Key.Drawn, row.Born = id.Drawn, id.Drawn
	}
	if r := t.admitRequest(&row, c.RequestID); !r.OK() {
		return r
	}
	r := apply(t, c.Body)
	if r.OK() {
		row.Job, row.Number = r.Job, r.Number
		t.remember(&row)
	}
	return r
}

// Request returns the row of a request id, if the command was carried out and the id is still remembered.
func (s *State) Request(actor, id string) (model.Request, bool) {
	parsed := model.ParseRequestID(id)
	return findRequest(s.Requests.Get, actor, &parsed)
}

// findRequest looks for an id under its time and, as its time may have been too far ahead,
// without one.
func findRequest(get func(model.RequestKey) (model.Request, bool), actor string, id *model.RequestID) (model.Request, bool) {
	key := model.RequestKey{Actor: actor, Drawn: id.Drawn, ID: id.Hash}
	past, found := get(key)
	if !found && key.Drawn != 0 {
		key.Drawn = 0
		past, found = get(key)
	}
	return past, found
}

// admitRequest reports whether a new id is recent enough, and whether room for the id can be made.
func (t *tx) admitRequest(row *model.Request, id string) command.Result {
	use, known := t.requestUse.get(model.ActorName(row.Key.Actor))
	timed := row.Key.Drawn > 0
	switch kept := model.RequestKept; {
	case timed && row.Born < max(t.settings.RequestsFrom, use.From):
		return refuse(model.CodeRequestExpired, "request id %q is older than what is remembered of %s: look whether it was "+
			"carried out, then use a new id", id, row.Key.Actor)
	case !timed && int(use.Untimed) >= t.bounds.actor/2:
		return refuse(model.CodeRequestsFull, "%s has %d request ids without a time remembered, as many as one caller may have, and "+
			"each is kept for %s: send a UUIDv7 of the present time as Idempotency-Key, or none; one more than %s ahead counts as "+
			"without a time", row.Key.Actor, use.Untimed, kept, maxAhead)
	case !timed && t.settings.Requests.Untimed >= uint64(t.bounds.untimed):
		return refuse(model.CodeRequestsFull, "%d request ids without a time are remembered, no more fit, and each is kept for %s: send "+
			"a UUIDv7 of the present time as Idempotency-Key, or none", t.settings.Requests.Untimed, kept)
	case !known && t.requestUse.size() >= t.bounds.actors:
		return refuse(model.CodeRequestsFull, "%d callers have request ids remembered, no more fit: retry in some hours", t.bounds.actors)
	}
	return ok()
}

// remember adds a row, for which room is made.
func (t *tx) remember(row *model.Request) {
	use, _ := t.requestUse.get(model.ActorName(row.Key.Actor))
	if use.Actor != "" {
		row.Key.Actor = use.Actor // all rows of an actor share one string
	}
	if int(use.Timed+use.Untimed) >= t.bounds.actor {
		t.forgetOldest(firstKey(t.requests.now().From(model.RequestKey{Actor: row.Key.Actor, Drawn: 1})))
	} else if t.requests.size() >= t.bounds.all {
		t.forgetOldest(firstKey(t.born.now().From(firstTimed)).Request)
	}
	t.requests.put(*row)
	t.tellRequests(row.Key.Actor, &use)
}

// forgetOldest forgets an id that has a time, before model.RequestKept is over. Older ids of
// its actor are refused from then on.
func (t *tx) forgetOldest(key model.RequestKey) {
	row, _ := t.requests.get(key)
	use, _ := t.requestUse.get(model.ActorName(key.Actor))
	use.From = max(use.From, row.Born+1)
	t.requestUse.put(use)
	t.requests.delete(key)
	t.settings.Requests.Early++
}

// forgetRequests forgets all ids of an actor that is removed: a later user of the name must not
// be answered with what the former one did. No caller can repeat these requests: the tokens are gone.
func (t *tx) forgetRequests(actor string) {
	for _, k := range keysOf(t.requests.now().From(model.RequestKey{Actor: actor}), func(k model.RequestKey) bool { return k.Actor == actor }) {
		t.requests.delete(k)
	}
}

// tellRequests announces that an actor's share, or the whole, is nearly full.
func (t *tx) tellRequests(actor string, was *model.RequestUse) {
	use, _ := t.requestUse.get(model.ActorName(actor))
	before, now := int(was.Timed+was.Untimed), int(use.Timed+use.Untimed)
	nearlyFull(t, "request ids of "+actor, before, now, t.bounds.actor)
	nearlyFull(t, "request ids of "+actor+" without a time", int(was.Untimed), int(use.Untimed), t.bounds.actor/2)
	all, untimed := t.requests.size(), int(t.settings.Requests.Untimed)
	nearlyFull(t, "request ids", all-now+before, all, t.bounds.all)
	nearlyFull(t, "request ids without a time", untimed-int(use.Untimed)+int(was.Untimed), untimed, t.bounds.untimed)
}

// onRequest updates the index and the counts of request ids.
func onRequest(t *tx, old, next *model.Request) {
	reindex(&t.born, old, next, func(r *model.Request) (BornKey, bool) { return BornKey{r.Born, r.Key}, true })
	if t.restoring || (old == nil) == (next == nil) {
		return
	}
	row, by := next, uint32(1)
	if next == nil {
		row, by = old, ^uint32(0) // wrap-around subtracts
	}
	use, _ := t.requestUse.get(model.ActorName(row.Key.Actor))
	use.Actor = row.Key.Actor
	if row.Key.Drawn > 0 {
		use.Timed += by
	} else {
		use.Untimed += by
		t.settings.Requests.Untimed += uint64(int64(int32(by))) // wrap-around subtracts
	}
	t.putRequestUse(&use)
}

// putRequestUse stores the row of an actor, or removes an empty one.
func (t *tx) putRequestUse(use *model.RequestUse) {
	if use.Timed+use.Untimed == 0 && use.From <= t.settings.RequestsFrom {
		t.requestUse.delete(model.ActorName(use.Actor))
		return
	}
	t.requestUse.put(*use)
}

func applyCutRequests(t *tx, b *command.CutRequests) command.Result {
	if b.Before > t.clock {
		return refuse(model.CodeInvalid, "the cut-off lies in the future")
	}
	t.settings.RequestsFrom = max(t.settings.RequestsFrom, b.Before)
	var old []model.RequestKey
	for _, from := range []BornKey{{}, firstTimed} {
		for k := range t.born.now().From(from) {
			if k.Born >= b.Before || len(old) == command.MaxCut || from == (BornKey{}) && k.Request.Drawn > 0 {
				break
			}
			old = append(old, k.Request)
		}
	}
	for _, k := range old {
		t.requests.delete(k)
	}
	var idle []model.RequestUse
	for _, use := range t.requestUse.now().All() {
		if use.Timed+use.Untimed == 0 {
			idle = append(idle, use)
		}
	}
	for i := range idle {
		t.putRequestUse(&idle[i])
	}
	return command.Result{Number: uint64(len(old))}
}

// OldestRequest returns when the oldest request id that is remembered was born; false if there
// is none.
func (s *State) OldestRequest() (at model.Time, found bool) {
	for _, from := range []BornKey{{}, firstTimed} {
		for k := range s.Born.From(from) {
			if !found || k.Born < at {
				at, found = k.Born, true
			}
			break
		}
	}
	return at, found
}
