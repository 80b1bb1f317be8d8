package tx

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// RequestBounds are the bounds above; tests use smaller ones.
type RequestBounds struct{ All, Actor, Untimed, Actors int }

func standardBounds() RequestBounds {
	return RequestBounds{state.MaxRequests, state.MaxRequestsOf, state.MaxRequestsUntimed, state.MaxRequestActors}
}

// Once carries out a command that may arrive more than once. When the command arrives again after it was
// carried out, once returns the first result and changes nothing. A refused command is not remembered, so
// that it is judged again when it arrives again.
//
// Ids never run out for actors that use UUIDv7: an actor at its share, or at a time when no more ids fit,
// makes room by forgetting the oldest id that has a time. Forgetting is safe, since the id's actor is refused
// older ids from then on. Ids without a time cannot be distinguished from new ones after they are forgotten;
// they are kept for model.RequestKept, and more of them are refused at the share.
func (t *Tx) Once(c *command.Command, apply Applier) command.Result {
	id := model.ParseRequestID(c.RequestID)
	if past, found := state.RequestFrom(t.Requests.Get, c.Actor, &id); found {
		if past.Kind != uint16(c.Kind()) || past.Body != c.BodyHash() {
			return Refuse(model.CodeIdempotency, "request id %q was used for something else: use a new one", c.RequestID)
		}
		t.Repeat = true
		return command.Result{Job: past.Job, Number: past.Number}
	}
	row := model.Request{
		Key: model.RequestKey{Actor: c.Actor, ID: id.Hash}, Kind: uint16(c.Kind()), Body: c.BodyHash(), Born: t.Clock, Index: t.Meta.Index,
	}
	if id.Drawn > 0 && id.Drawn.Sub(t.Clock) <= state.MaxAhead { // a later time is no time: the row could not be cut until then
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

// admitRequest reports whether a new id is recent enough, and whether room for the id can be made.
func (t *Tx) admitRequest(row *model.Request, id string) command.Result {
	use, known := t.RequestUse.Get(model.ActorName(row.Key.Actor))
	timed := row.Key.Drawn > 0
	switch kept := model.RequestKept; {
	case timed && row.Born < max(t.Settings.RequestsFrom, use.From):
		return Refuse(model.CodeRequestExpired, "request id %q is older than what is remembered of %s: look whether it was "+
			"carried out, then use a new id", id, row.Key.Actor)
	case !timed && int(use.Untimed) >= t.Bounds.Actor/2:
		return Refuse(model.CodeRequestsFull, "%s has %d request ids without a time remembered, as many as one caller may have, and "+
			"each is kept for %s: send a UUIDv7 of the present time as Idempotency-Key, or none; one more than %s ahead counts as "+
			"without a time", row.Key.Actor, use.Untimed, kept, state.MaxAhead)
	case !timed && t.Settings.Requests.Untimed >= uint64(t.Bounds.Untimed):
		return Refuse(model.CodeRequestsFull, "%d request ids without a time are remembered, no more fit, and each is kept for %s: send "+
			"a UUIDv7 of the present time as Idempotency-Key, or none", t.Settings.Requests.Untimed, kept)
	case !known && t.RequestUse.Size() >= t.Bounds.Actors:
		return Refuse(model.CodeRequestsFull, "%d callers have request ids remembered, no more fit: retry in some hours", t.Bounds.Actors)
	}
	return OK()
}

// remember adds a row, for which room is made.
func (t *Tx) remember(row *model.Request) {
	use, _ := t.RequestUse.Get(model.ActorName(row.Key.Actor))
	if use.Actor != "" {
		row.Key.Actor = use.Actor // all rows of an actor share one string
	}
	if int(use.Timed+use.Untimed) >= t.Bounds.Actor {
		t.forgetOldest(FirstKey(t.Requests.Now().From(model.RequestKey{Actor: row.Key.Actor, Drawn: 1})))
	} else if t.Requests.Size() >= t.Bounds.All {
		t.forgetOldest(FirstKey(t.Born.Now().From(state.FirstTimed)).Request)
	}
	t.Requests.Put(*row)
	t.tellRequests(row.Key.Actor, &use)
}

// forgetOldest forgets an id that has a time, before model.RequestKept is over. Older ids of
// its actor are refused from then on.
func (t *Tx) forgetOldest(key model.RequestKey) {
	row := t.Requests.Must(key)
	use := t.RequestUse.Must(model.ActorName(key.Actor))
	use.From = max(use.From, row.Born+1)
	t.RequestUse.Put(use)
	t.Requests.Delete(key)
	t.Settings.Requests.Early++
}

// ForgetRequests forgets all ids of an actor that is removed: a later user of the name must not
// be answered with what the former one did. No caller can repeat these requests: the tokens are gone.
func (t *Tx) ForgetRequests(actor string) {
	for _, k := range KeysOf(t.Requests.Now().From(model.RequestKey{Actor: actor}),
		func(k model.RequestKey) bool { return k.Actor == actor }) {
		t.Requests.Delete(k)
	}
}

// tellRequests announces that an actor's share, or the whole, is nearly full.
func (t *Tx) tellRequests(actor string, was *model.RequestUse) {
	use, _ := t.RequestUse.Get(model.ActorName(actor))
	before, now := int(was.Timed+was.Untimed), int(use.Timed+use.Untimed)
	nearlyFull(t, "request ids of "+actor, before, now, t.Bounds.Actor)
	nearlyFull(t, "request ids of "+actor+" without a time", int(was.Untimed), int(use.Untimed), t.Bounds.Actor/2)
	all, untimed := t.Requests.Size(), int(t.Settings.Requests.Untimed)
	nearlyFull(t, "request ids", all-now+before, all, t.Bounds.All)
	nearlyFull(t, "request ids without a time", untimed-int(use.Untimed)+int(was.Untimed), untimed, t.Bounds.Untimed)
}

// onRequest updates the index and the counts of request ids.
func onRequest(t *Tx, old, next *model.Request) {
	reindex(&t.Born, old, next, func(r *model.Request) (state.BornKey, bool) { return state.BornKey{Born: r.Born, Request: r.Key}, true })
	if t.Restoring || (old == nil) == (next == nil) {
		return
	}
	row, by := next, uint32(1)
	if next == nil {
		row, by = old, ^uint32(0) // wrap-around subtracts
	}
	use, _ := t.RequestUse.Get(model.ActorName(row.Key.Actor))
	use.Actor = row.Key.Actor
	if row.Key.Drawn > 0 {
		use.Timed += by
	} else {
		use.Untimed += by
		t.Settings.Requests.Untimed += uint64(int64(int32(by))) // wrap-around subtracts
	}
	t.PutRequestUse(&use)
}

// PutRequestUse stores the row of an actor, or removes an empty one.
func (t *Tx) PutRequestUse(use *model.RequestUse) {
	if use.Timed+use.Untimed == 0 && use.From <= t.Settings.RequestsFrom {
		t.RequestUse.Delete(model.ActorName(use.Actor))
		return
	}
	t.RequestUse.Put(*use)
}
