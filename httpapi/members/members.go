// Package members handles requests about the members of the cluster: machines that join, and the certificates of peers
// and nodes.
package members

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// members lists, admits and refuses members.
type members struct {
	api      *core.API
	rotating chan struct{} // full while a rotation begins at this peer
	revoking chan struct{} // full while the certificates of a peer are revoked
	probing  chan struct{} // full while this peer asks as many times as it may
}

// revokeInput is the input of DELETE /cluster/certificates/{role}/{name}.
type revokeInput struct {
	Key  string `header:"Idempotency-Key"`
	Role string `path:"role" maxLength:"8" doc:"peer or node"`
	Name string `path:"name" maxLength:"128"`

	Force bool `query:"force" doc:"also if the member is a peer without which the voters that are up are no majority: the cluster then stops"`
}

// Routes adds the paths.
func Routes(a *core.API, doc huma.API) {
	m := members{a, make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, probesAtOnce)}
	core.AnswerCall(a, recordOwn, m.takeRecord)
	o := core.Op("join-cluster", http.MethodPost, "/cluster/join", "Let a machine join with a join token")
	o.Description = "The request carries no other credential than the join token, which is spent. The answer holds the certificate of the machine."
	core.HandleBody(a, doc, o, m.join)
	m.peerRoutes(doc)
	m.rotationRoutes(doc)
	m.backupRoute(doc)
	m.upgradeRoutes(doc)
	m.probeRoute(doc)
	m.standingRoute(doc)
	core.Handle(a, doc, core.Op("certificates", http.MethodGet, "/cluster/certificates", "The certificates of the members"), m.list)
	core.Handle(a, doc, core.Op("revoke-certificate", http.MethodDelete, "/cluster/certificates/{role}/{name}", "Refuse all certificates that a member has so far"), m.revoke)
}

func (m members) list(ctx context.Context, _ *struct{}) (*core.Answer[wire.Certificates], error) {
	s, err := m.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	out := &wire.Certificates{Certificates: []wire.Certificate{}}
	for k, v := range s.Certificates.All() {
		out.Certificates = append(out.Certificates, wire.Certificate{
			Role: string(roleOf(k.Role)), Name: k.Name, Serial: v.Serial, IssuedAt: v.Issued.Time(), ExpiresAt: v.Expires.Time(), By: v.By,
			Revoked: v.Revoked,
		})
	}
	return &core.Answer[wire.Certificates]{Index: s.Index, Body: out}, nil
}

func (m members) revoke(ctx context.Context, in *revokeInput) (*core.Answer[wire.Gone], error) {
	role, err := tokenRole(trust.Role(in.Role))
	if err != nil {
		return nil, err
	}
	member := membership.Member{Role: role, Name: in.Name}
	s := m.api.State()
	known := s.Certificates.Has(member)
	if role == model.RolePeer && !in.Force {
		select { // one after the other: each counts on those that the others leave
		case m.revoking <- struct{}{}:
			defer func() { <-m.revoking }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := m.mayRevoke(ctx, model.PeerID(in.Name)); err != nil {
			return nil, err
		}
	}
	_, index, err := m.api.Propose(ctx, in.Key, &command.RevokeCertificate{Member: member})
	if err != nil {
		return nil, err
	}
	text := member.String() + " is refused from now on; the machine may join again with a token for this name"
	if !known {
		text = "no certificate of " + member.String() + " is recorded (berth cert list shows all); one that was issued by berth cert issue is refused from now on"
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// authority returns what issues certificates at this peer.
func (m members) authority() (issue.Authority, error) {
	if m.api.Config.Authority == nil {
		return nil, problem.Denied("this peer issues no certificates")
	}
	return m.api.Config.Authority, nil
}

// tokenRole returns the role of the tokens by which members of a role join.
func tokenRole(role trust.Role) (model.Role, error) {
	switch role {
	case trust.RolePeer:
		return model.RolePeer, nil
	case trust.RoleNode:
		return model.RoleAgent, nil
	}
	return model.RoleNone, problem.Invalid("role", "must be peer or node")
}

// roleOf is the inverse of tokenRole.
func roleOf(role model.Role) trust.Role {
	if role == model.RolePeer {
		return trust.RolePeer
	}
	return trust.RoleNode
}
