package members

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// standingRoute adds the path by which a machine learns why its certificate is refused: the handshake itself does not say that to the
// machine.
func (m members) standingRoute(doc huma.API) {
	o := core.Op("member-standing", http.MethodPost, "/cluster/standing", "Why the certificate of a member is refused")
	o.Description = "Any peer answers, without a leader. Any caller that has the certificate may ask."
	o.Metadata = map[string]any{core.AnsweredHere: true}
	core.HandleBody(m.api, doc, o, m.standing)
}

// standingInput is the input of POST /cluster/standing.
type standingInput struct{ core.Raw }

func (m members) standing(_ context.Context, _ *standingInput, body *wire.Presented) (*core.Answer[wire.Standing], error) {
	leaf, err := x509.ParseCertificate(body.Certificate)
	if err != nil {
		return nil, problem.Invalid("certificate", "must be a certificate of X.509 in DER, as base64")
	}
	s := m.api.State()
	out := &wire.Standing{Success: true, AnsweredBy: string(m.api.Config.Self)}
	if m.api.Config.Judge != nil {
		out.Refused, out.Message = explain(&s, leaf, m.api.Config.Judge(leaf))
	}
	return &core.Answer[wire.Standing]{Index: s.Index, Body: out}, nil
}

// explain returns why a certificate is refused, to its holder.
func explain(s *state.State, leaf *x509.Certificate, err error) (refused, text string) {
	switch trust.FaultOf(err) { //nolint:exhaustive // all others are explained alike
	case "":
		if err == nil {
			return "", ""
		}
	case trust.FaultRevoked:
		return explainRevoked(s, leaf)
	case trust.FaultExpired:
		return wire.RefusedExpired, err.Error()
	case trust.FaultGeneration:
		return wire.RefusedGeneration, "this machine is of a generation that the cluster has left behind by a recovery or a restore: " +
			"give this machine an empty data folder, and let it join again under another name"
	}
	return wire.RefusedOther, err.Error()
}

// explainRevoked tells apart what certificates are refused for by the state.
func explainRevoked(s *state.State, leaf *x509.Certificate) (refused, text string) {
	i, err := trust.ParseIdentity(leaf.URIs[0]) // that there is one was judged
	if err != nil {
		return wire.RefusedOther, err.Error()
	}
	role := model.RoleAgent
	if i.Role == trust.RolePeer {
		role = model.RolePeer
	}
	member := membership.Member{Role: role, Name: i.Name}
	row, _ := s.Certificates.Get(member)
	since, renew := row.Since.Time().UTC().Format(time.DateTime)+" UTC",
		fmt.Sprintf("on this machine, berth join %s --renew, with a token for its name (on another peer: berth token join %s --name %s)", i.Role, i.Role, i.Name)
	switch {
	case row.Revoked && role == model.RolePeer && !s.Peers.Has(model.PeerID(i.Name)):
		return wire.RefusedRemoved, peer.ErrRemoved.Error()
	case row.Revoked:
		return wire.RefusedRevoked, fmt.Sprintf("%s has revoked the certificates of %s, those issued before %s: to go on, %s", row.By, member, since, renew)
	}
	return wire.RefusedReplaced, fmt.Sprintf("another certificate of %s was issued with a join token at %s, and those before are refused: if this machine is %s, %s", member, since, member, renew)
}
