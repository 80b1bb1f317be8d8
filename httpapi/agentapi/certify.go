package agentapi

import (
	"context"
	"crypto/x509"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// certify issues another certificate for the node of the caller's present one.
func (a agents) certify(ctx context.Context, q *agentwire.Certify) (*agentwire.Certified, uint64, error) {
	c := auth.From(ctx)
	if a.api.Config.Authority == nil || c.Kind != auth.Node {
		return nil, 0, problem.Denied("only an agent with a certificate can have that renewed: let the machine join with a token (berth token join)")
	}
	signed, err := a.api.Config.Authority.Certify(trust.Member{Role: trust.RoleNode, Name: c.Name, Life: q.Life}, q.Request)
	if err != nil {
		return nil, 0, problem.Refuse(wire.CodeInvalid, err.Error())
	}
	leaf, err := x509.ParseCertificate(signed.Certificate)
	if err != nil {
		return nil, 0, err
	}
	record := issue.Record(membership.Member{Role: model.RoleAgent, Name: c.Name}, leaf, signed.Revision)
	_, index, err := a.api.Propose(ctx, "", record)
	if err != nil {
		return nil, 0, err
	}
	a.api.Log.Info("certificate_issued", "node", c.Name, "serial", record.Serial)
	return &agentwire.Certified{
		Certificate: signed.Certificate, Authorities: signed.Authorities, Link: signed.Link,
		Revision: signed.Revision,
	}, index, nil
}

// trust records which revision of what the cluster trusts the caller's node uses.
func (a agents) trust(ctx context.Context, q *agentwire.Trust) (*struct{}, uint64, error) {
	c := auth.From(ctx)
	if c.Kind != auth.Node {
		return nil, 0, problem.Denied("only an agent with a certificate reports what it trusts")
	}
	_, index, err := a.api.Propose(ctx, "",
		&command.ConfirmTrust{Member: membership.Member{Role: model.RoleAgent, Name: c.Name}, Revision: q.Revision})
	return &struct{}{}, index, err
}
