package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// RecordCertificate records the newest certificate of a member, and spends the join token that was used. A repetition
// with the same token and the same key is carried out again, so that a machine that has lost the answer still joins.
func RecordCertificate(t *tx.Tx, b *command.RecordCertificate) command.Result {
	row, known := t.Certificates.Get(b.Member)
	if known && (row.Refuses(b.Issued) || row.Revoked && b.Token.IsZero()) {
		return tx.Refuse(model.CodeDenied, "the certificates of %s are revoked: join again with a new token (berth token join), and if that was just done, "+
			"compare the clocks of the peers", b.Member)
	}
	next := membership.Certificate{
		Member: b.Member, Serial: b.Serial, Key: b.Key, Issued: b.Issued, Expires: b.Expires, Since: row.Since, Token: row.Token, By: t.Actor,
		Revision: row.Revision,
	}
	if !known {
		forgetExpired(t)
		if t.Certificates.Size() >= membership.MaxCertificates {
			return tooMany()
		}
	}
	repeated := known && row.Token == b.Token && row.Key == b.Key && !row.Revoked
	if !b.Token.IsZero() && !repeated {
		if r := spendToken(t, b, known && row.Expires >= t.Clock && !row.Revoked); !r.OK() {
			return r
		}
		next.Since, next.Token = b.Issued, b.Token
	}
	if !b.Token.IsZero() { // the machine has nothing yet but what it gets now
		trusted, _ := t.Trusts.Get(state.Only{})
		next.Revision = min(b.Revision, trusted.Revision)
	}
	if known && b.Token.IsZero() && b.Issued < row.Issued {
		return tx.OK() // a newer one is known
	}
	t.Certificates.Put(next)
	return tx.OK()
}

// spendToken removes the join token of a member, or returns why that member may not join with the token. counts reports that a certificate
// of the member counts.
func spendToken(t *tx.Tx, b *command.RecordCertificate, counts bool) command.Result {
	token, found := t.Tokens.Get(b.Token)
	switch {
	case !found || token.Role != b.Member.Role || !token.Good(t.Clock):
		return tx.Refuse(model.CodeDenied, "the join token was used already, was revoked or has expired: each is good for one machine; make another with berth token join")
	case token.User != "" && token.User != b.Member.Name:
		return tx.Refuse(model.CodeDenied, "the join token is for %s, not for %s: use that name, or make a token for this one with berth token join",
			membership.Member{Role: token.Role, Name: token.User}, b.Member)
	}
	refusal := tx.OK()
	if b.Member.Role == model.RolePeer {
		refusal = admitPeer(t, b, counts, token.User != "")
	} else if token.User == "" && (counts || t.Nodes.Has(model.NodeID(b.Member.Name))) {
		refusal = tx.Refuse(model.CodeConflict, "%s is a member already: choose another name with --id, or let this machine take its place with a token for the name: "+
			"berth token join node --name %s", b.Member, b.Member.Name)
	}
	if refusal.OK() {
		t.Tokens.Delete(b.Token)
	}
	return refusal
}

// admitPeer returns why a machine may not get the certificate of a peer. The name of a peer stands for its votes, which are in its data
// folder: another machine under that name would be refused by Raft, and the peer itself by its superseded certificate. So only the machine
// that holds an earlier certificate gets another one.
func admitPeer(t *tx.Tx, b *command.RecordCertificate, counts, named bool) command.Result {
	member := t.Peers.Has(model.PeerID(b.Member.Name))
	row, known := t.Certificates.Get(b.Member)
	switch {
	case b.Renewal && !member && known && row.Revoked:
		return tx.Refuse(model.CodeConflict, "%s was removed from the cluster: to use this machine again, give it an empty data folder, another --id and a new join token", b.Member)
	case !member && !counts:
		return tx.OK()
	case b.Renewal && !named:
		return tx.Refuse(model.CodeConflict, "a certificate of %s is renewed with a token for its name: berth token join peer --name %s", b.Member, b.Member.Name)
	case b.Renewal:
		return tx.OK()
	}
	free := ""
	if !member {
		free = "; if that machine has joined and never started, berth cert revoke peer " + b.Member.Name + " frees the name"
	}
	return tx.Refuse(model.CodeConflict, "%s is a member already, and no other machine takes its place: choose another name with --id; or, on the machine of %s itself, "+
		"renew its certificate: berth join peer --renew, with a token for its name (berth token join peer --name %s)%s", b.Member, b.Member, b.Member.Name, free)
}

// forgetExpired removes members whose certificates have expired long ago.
func forgetExpired(t *tx.Tx) {
	old := t.Clock.Add(-membership.KeepExpired)
	for _, m := range tx.KeysWhere(t.Certificates.Now().All(), func(v *membership.Certificate) bool { return v.Expires < old }) {
		t.Certificates.Delete(m)
	}
}

func tooMany() command.Result {
	return tx.Refuse(model.CodeLimit, "%d members are known, no more fit: those whose certificates expired a year ago make room by themselves", membership.MaxCertificates)
}

// RevokeCertificate makes the cluster refuse all certificates that a member has so far.
func RevokeCertificate(t *tx.Tx, b *command.RevokeCertificate) command.Result {
	row, known := t.Certificates.Get(b.Member)
	switch {
	case !known && t.Certificates.Size() >= membership.MaxCertificates:
		return tooMany()
	case !known: // its certificate was issued without the cluster
		row = membership.Certificate{Member: b.Member}
	case row.Revoked:
		return tx.OK()
	}
	tx.Revoke(t, row)
	return tx.OK()
}
