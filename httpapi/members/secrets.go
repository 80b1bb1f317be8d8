package members

import (
	"context"
	"errors"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/trust"
)

// secrets are the secrets of the cluster on their way between two peers. They never enter the log.
type secrets struct {
	Authorities [][]byte `cbor:"1,keyasint,omitempty"` // PKCS #8
	Sealing     [][]byte `cbor:"3,keyasint,omitempty"`
}

var (
	keepSecrets = call.Define[secrets, struct{}](call.Forward, "keep-secrets") // those of a rotation that is about to begin
	giveSecrets = call.Define[struct{}, secrets](call.Forward, "give-secrets") // all
)

// secretsLimit bounds a call.
const secretsLimit = 3 * time.Second

func pack(s *trust.Secrets) (*secrets, error) {
	out := &secrets{Sealing: s.Sealing}
	keys, err := trust.MarshalKeys(s.Authorities)
	out.Authorities = keys
	return out, err
}

func (s *secrets) unpack() (*trust.Secrets, error) {
	keys, err := trust.ParseKeys(s.Authorities)
	return &trust.Secrets{Authorities: keys, Sealing: s.Sealing}, err
}

// ask makes a call about secrets at another peer.
func ask[Q, A any](ctx context.Context, a *core.API, to peer.Server, n call.Name[Q, A], q *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, secretsLimit)
	defer cancel()
	return core.AskPeer(ctx, a, to, n, q)
}

// trusted returns an error for a peer that was removed or whose certificate is revoked: its connections stay open for a while.
func (m members) trusted(s *state.State, id model.PeerID) error {
	row, _ := s.Certificates.Get(membership.Member{Role: model.RolePeer, Name: string(id)})
	if _, err := m.known(string(id)); err != nil || row.Revoked {
		return &call.RemoteError{Kind: kindRefused, Text: "peer " + string(id) + " is no member, or its certificate is revoked"}
	}
	return nil
}

// takeSecrets stores the secrets of the next rotation at this peer.
func (m members) takeSecrets(_ context.Context, from model.PeerID, s *secrets) (*struct{}, error) {
	present := m.api.State()
	authority, err := m.authority()
	if err = errors.Join(err, m.trusted(&present, from)); err != nil {
		return nil, err
	}
	next, err := s.unpack()
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("next_secrets_stored", "from", from)
	return &struct{}{}, authority.Keep(next)
}

// showSecrets gives a peer the secrets of the cluster.
func (m members) showSecrets(_ context.Context, from model.PeerID, _ *struct{}) (*secrets, error) {
	present := m.api.State()
	authority, err := m.authority()
	if err = errors.Join(err, m.trusted(&present, from)); err != nil {
		return nil, err
	}
	all, err := authority.Secrets()
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("secrets_given", "to", from)
	return pack(all)
}

// spread has all peers store secrets. Its error names a peer that has not: a rotation begins only with all, so that no loss of
// a machine loses a secret that is in use.
func (m members) spread(ctx context.Context, present *state.State, next *trust.Secrets) error {
	packed, err := pack(next)
	if err != nil {
		return err
	}
	if err := m.api.Config.Authority.Keep(next); err != nil {
		return err
	}
	for _, s := range m.others() {
		err := m.trusted(present, s.ID)
		if err == nil {
			_, err = ask(ctx, m.api, s, keepSecrets, packed)
		}
		if err != nil {
			return problem.Refuse(model.CodeConflict.String(), "peer "+string(s.ID)+" cannot store the next key ("+err.Error()+"); nothing was changed: start that peer, or remove it with berth peers remove")
		}
	}
	return nil
}

// FetchSecrets returns what gets the secrets of the cluster from all other peers that answer.
func FetchSecrets(a *core.API) func(ctx context.Context) (*trust.Secrets, error) {
	return func(ctx context.Context) (*trust.Secrets, error) {
		all, answered := &trust.Secrets{}, false
		failed := errors.New("no other peer has given the secrets")
		for _, s := range (members{api: a}).others() {
			got, err := ask(ctx, a, s, giveSecrets, &struct{}{})
			var some *trust.Secrets
			if err == nil {
				some, err = got.unpack()
			}
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			all, answered = all.And(some), true
		}
		if !answered {
			return nil, failed
		}
		return all, nil
	}
}
