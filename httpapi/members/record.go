package members

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/trust"
)

// recordOwn is the call by which a peer has its own new certificate recorded by the leader.
var recordOwn = call.Define[command.RecordCertificate, struct{}](call.Forward, "certificate")

// kindRefused is the kind of a certificate that the state refuses.
const kindRefused call.Kind = "refused"

const (
	recordLimit = 3 * time.Second
	recordPause = 5 * time.Second // between two tries
)

// RecordOwn records the present certificate of this peer, if the state does not know it yet. It ends with that or with
// the context.
func RecordOwn(ctx context.Context, a *core.API, leaf *x509.Certificate) {
	m := members{api: a}
	for ctx.Err() == nil {
		s := a.State()
		known, found := s.Certificates.Get(membership.Member{Role: model.RolePeer, Name: string(a.Config.Self)})
		if found && known.Issued >= model.TimeOf(trust.IssuedAt(leaf)) {
			return
		}
		if err := m.recordLeaf(ctx, leaf, 0); err == nil || call.KindOf(err) == kindRefused {
			return
		}
		select {
		case <-time.After(recordPause):
		case <-ctx.Done():
		}
	}
}

// Recording records the certificates that a peer issues to itself. Without a leader the peer renews all the same: with an
// expired certificate it could not vote for one.
func Recording(a *core.API, sign trust.Sign) trust.Sign {
	return func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		signed, err := sign(ctx, request, life)
		if err != nil {
			return nil, err
		}
		leaf, err := x509.ParseCertificate(signed.Certificate)
		if err != nil {
			return nil, err
		}
		switch err := (members{api: a}).recordLeaf(ctx, leaf, signed.Revision); {
		case call.KindOf(err) == kindRefused:
			return nil, err
		case err != nil:
			a.Log.Warn("certificate_not_recorded", "serial", trust.Serial(leaf), "err", err)
		}
		return signed, nil
	}
}

// recordLeaf has the leader record a certificate of this peer.
func (m members) recordLeaf(ctx context.Context, leaf *x509.Certificate, revision uint64) error {
	self := m.api.Config.Self
	record := issue.Record(membership.Member{Role: model.RolePeer, Name: string(self)}, leaf, revision)
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	_, err := core.AtLeader(ctx, m.api, recordOwn, record, m.takeRecord)
	return err
}

// takeRecord records the certificate of a peer.
func (m members) takeRecord(ctx context.Context, from model.PeerID, record *command.RecordCertificate) (*struct{}, error) {
	if record.Member.Role != model.RolePeer || record.Member.Name != string(from) || !record.Token.IsZero() {
		return nil, &call.RemoteError{Kind: kindRefused, Text: "a peer may record its own certificate only"}
	}
	_, _, err := m.api.ProposeAs(ctx, "peer:"+string(from), "", record)
	if f, is := errors.AsType[*problem.Failure](err); is && f.Code == model.CodeDenied.String() {
		return nil, &call.RemoteError{Kind: kindRefused, Text: f.Detail}
	}
	return &struct{}{}, err
}
