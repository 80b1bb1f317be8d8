package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// MakeSession makes a session from a token or a code, which is spent, or a code from a token or a session.
func MakeSession(t *tx.Tx, b *command.MakeSession) command.Result {
	row := session.Row{Hash: b.Hash, Parent: b.From, Made: t.Clock, Code: b.Code}
	from, found := t.Sessions.Get(b.From)
	switch {
	case !found && !b.Code && !t.Tokens.Has(b.From), found && !b.Code && (!from.Code || !from.Good(t.Clock)):
		return tx.Refuse(model.CodeDenied, "the token or code is unknown, was used already or has expired: a code is good once, within %s; ask for another", session.Brief)
	case found && b.Code && (from.Code || !from.Good(t.Clock)):
		return tx.Refuse(model.CodeDenied, "the session has ended: sign in again")
	case found:
		row.Parent, row.Began, row.First = from.Parent, from.Began, from.First
		if b.Code {
			row.First = from.SignIn()
		}
	}
	parent, r := parentOf(t, row.Parent)
	if !r.OK() {
		return r
	}
	row.User, row.Expires = parent.User, t.Clock.Add(session.Brief)
	if !b.Code {
		if row.Began == 0 {
			row.Began = t.Clock
		}
		row.Expires = session.End(row.Began, t.Clock, &parent)
	}
	if !row.Good(t.Clock) {
		return tx.Refuse(model.CodeDenied, "the sign-in was %s ago, its time is over: sign in with a token", session.Life)
	}
	user, _ := t.Users.Get(model.UserName(row.User))
	most := session.Max
	if !parent.Allows(user.Role).Covers(model.RoleOperator) {
		most -= most / state.OperatorPart
	}
	return addSession(t, row, b.From, most)
}

// parentOf returns a token with which its user may sign in.
func parentOf(t *tx.Tx, hash model.Hash) (model.Token, command.Result) {
	token, found := t.Tokens.Get(hash)
	if _, human := token.Of(); !found || !human || !token.Good(t.Clock) {
		return token, tx.Refuse(model.CodeDenied, "the token is not a user's, was revoked or has expired")
	}
	return token, tx.OK()
}

// addSession adds a session or a code. The code from which a session is made is spent. Those that have expired are removed, and if the
// user has as many as one user may have, the oldest. In all there may be so many.
func addSession(t *tx.Tx, row session.Row, from model.Hash, all int) command.Result {
	if t.Sessions.Has(row.Hash) || t.Tokens.Has(row.Hash) {
		return tx.Refuse(model.CodeConflict, "there is such a session already")
	}
	goes := func(v *session.Row) bool { return !v.Good(t.Clock) || v.Code && v.Hash == from }
	gone := tx.KeysWhere(t.Sessions.Now().All(), goes)
	own := tx.KeysWhere(t.Sessions.Now().All(), func(v *session.Row) bool { return v.User == row.User && v.Code == row.Code && !goes(v) })
	most := session.MaxOf
	if row.Code {
		most = session.MaxCodesOf
	}
	if len(own) >= most {
		gone = append(gone, oldest(t, own))
	}
	if n := t.Sessions.Size() - len(gone); n >= all {
		return tx.Refuse(model.CodeLimit, "there are %d sessions, and there may be %d, of which a tenth is kept for operators: end some that are not in use", n, session.Max)
	}
	for _, hash := range gone {
		t.Sessions.Delete(hash)
	}
	t.Sessions.Put(row)
	return tx.OK()
}

// oldest returns the session of a list that was made first; of two made at once the one with the smaller hash.
func oldest(t *tx.Tx, list []model.Hash) model.Hash {
	first, _ := t.Sessions.Get(list[0])
	for _, hash := range list[1:] {
		if v, _ := t.Sessions.Get(hash); v.Made < first.Made {
			first = v
		}
	}
	return first.Hash
}

// RenewSession extends a session that is in use, if it gains an hour or more: several peers may ask at once.
func RenewSession(t *tx.Tx, b *command.RenewSession) command.Result {
	row, found := t.Sessions.Get(b.Hash)
	if !found || row.Code || !row.Good(t.Clock) {
		return tx.Refuse(model.CodeNotFound, "there is no such session, or it has ended")
	}
	parent, r := parentOf(t, row.Parent)
	if !r.OK() {
		return r
	}
	if end, due := row.Renewal(t.Clock, &parent); due {
		row.Expires = end
		t.Sessions.Put(row)
	}
	return tx.OK()
}

// endSession removes a session, and all that belong to the same sign-in.
func endSession(t *tx.Tx, row *session.Row) {
	first := row.SignIn()
	for _, hash := range tx.KeysWhere(t.Sessions.Now().All(), func(v *session.Row) bool { return v.Hash == first || v.First == first }) {
		t.Sessions.Delete(hash)
	}
}

// dropSessions removes the sessions and codes of tokens.
func dropSessions(t *tx.Tx, tokens []model.Hash) {
	of := make(map[model.Hash]bool, len(tokens))
	for _, hash := range tokens {
		of[hash] = true
	}
	for _, hash := range tx.KeysWhere(t.Sessions.Now().All(), func(v *session.Row) bool { return of[v.Parent] }) {
		t.Sessions.Delete(hash)
	}
}
