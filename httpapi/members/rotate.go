package members

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// maxBehind bounds the members that an answer names.
const maxBehind = 100

// confirmTrust is the call by which a peer reports which revision of what the cluster trusts it uses.
var confirmTrust = call.Define[command.ConfirmTrust, struct{}](call.Forward, "confirm-trust")

// rotationRoutes adds the paths of rotations.
func (m members) rotationRoutes(doc huma.API) {
	core.AnswerCall(m.api, keepSecrets, m.takeSecrets)
	core.AnswerCall(m.api, giveSecrets, m.showSecrets)
	core.AnswerCall(m.api, confirmTrust, m.takeConfirm)
	core.Handle(m.api, doc, core.Op("rotation", http.MethodGet, "/cluster/rotation", "How far the replacement of keys and certificates is"), m.rotation)
	o := core.Op("begin-rotation", http.MethodPost, "/cluster/rotation", "Replace the authority, or all certificates")
	o.Description = "All peers must be up. Each step waits for all members; the answer to GET names those that are missing. A member that does not come back is left out by revoking its certificate."
	core.HandleBody(m.api, doc, o, m.rotate)
	core.Handle(m.api, doc, core.Op("abort-rotation", http.MethodDelete, "/cluster/rotation", "End a rotation whose next key is not in use yet"), m.abortRotation)
}

func (m members) rotation(ctx context.Context, _ *struct{}) (*core.Answer[wire.Rotation], error) {
	s, err := m.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	return m.rotationAt(&s), nil
}

// rotationAt returns how far a rotation is in a state.
func (m members) rotationAt(s *state.State) *core.Answer[wire.Rotation] {
	t := s.Trust()
	behind, all := s.Trusted().Behind(t.Revision, m.api.Now(s))
	out := &wire.Rotation{Rotation: t.Rotation.String(), Revision: t.Revision, Members: all, Missing: len(behind), Behind: []wire.Member{}}
	if t.Rotation != membership.RotationNone {
		out.Step, out.Steps, out.Since, out.By = t.Step(), t.Rotation.Steps(), t.Since.Time(), t.By
	}
	for _, b := range behind[:min(len(behind), maxBehind)] {
		out.Behind = append(out.Behind, wire.Member{Role: string(roleOf(b.Role)), Name: b.Name})
	}
	return &core.Answer[wire.Rotation]{Index: s.Index, Body: out}
}

// rotate makes the next credential, has all peers store its secret, and begins the rotation.
func (m members) rotate(ctx context.Context, in *core.BodyInput, body *wire.Rotate) (*core.Answer[wire.Rotation], error) {
	what, known := membership.RotationNamed(body.Rotation)
	if !known {
		return nil, problem.Invalid("rotation", "must be ca or leaf")
	}
	authority, err := m.authority()
	if err != nil {
		return nil, err
	}
	select { // two that overlap would replace each other's secrets
	case m.rotating <- struct{}{}:
		defer func() { <-m.rotating }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := m.api.Fresh(ctx, peer.Linearizable)
	if err != nil {
		return nil, err
	}
	if t := s.Trust(); t.Rotation == what { // an answer was lost, or two administrators ask for the same
		return m.rotationAt(&s), nil
	} else if t.Rotation != membership.RotationNone {
		return nil, problem.Refuse(model.CodeConflict.String(), "a rotation of "+t.Rotation.String()+" is under way: berth cluster rotate shows how far that is, and --abort ends it")
	}
	begin, next, err := authority.Prepare(what)
	if err != nil {
		return nil, problem.Refuse(model.CodeConflict.String(), err.Error())
	}
	if what != membership.RotationLeaf {
		if err := m.spread(ctx, &s, next); err != nil {
			return nil, err
		}
	}
	if _, _, err := m.api.Propose(ctx, in.Key, begin); err != nil {
		return nil, err
	}
	m.api.Log.Info("rotation_begun", "rotation", body.Rotation, "by", auth.From(ctx).Actor())
	return m.rotation(ctx, nil)
}

// abortInput is the input of DELETE /cluster/rotation.
type abortInput struct {
	Key string `header:"Idempotency-Key"`
}

func (m members) abortRotation(ctx context.Context, in *abortInput) (*core.Answer[wire.Rotation], error) {
	if _, _, err := m.api.Propose(ctx, in.Key, &command.AbortRotation{}); err != nil {
		return nil, err
	}
	return m.rotation(ctx, nil)
}

// takeConfirm records which revision a peer uses.
func (m members) takeConfirm(ctx context.Context, from model.PeerID, c *command.ConfirmTrust) (*struct{}, error) {
	if c.Member != (membership.Member{Role: model.RolePeer, Name: string(from)}) {
		return nil, &call.RemoteError{Kind: kindRefused, Text: "a peer reports for itself only"}
	}
	_, _, err := m.api.ProposeAs(ctx, "peer:"+string(from), "", c)
	return &struct{}{}, err
}

// Following returns how this peer follows the revisions of what the cluster trusts.
func Following(a *core.API) *trust.Following {
	m := members{api: a}
	newest := func() uint64 {
		s := a.State()
		return s.Trust().Revision
	}
	return &trust.Following{
		Newest: newest,
		Wake: func() <-chan struct{} {
			s := a.State()
			return a.Changed(core.Topics(model.TopicSettings), s.Index)
		},
		Confirm: m.confirmOwn,
	}
}

// confirmOwn has the leader record which revision this peer uses.
func (m members) confirmOwn(ctx context.Context, revision uint64) error {
	self := m.api.Config.Self
	own := membership.Member{Role: model.RolePeer, Name: string(self)}
	s := m.api.State()
	if known, found := s.Certificates.Get(own); found && known.Revision >= revision {
		return nil
	}
	c := &command.ConfirmTrust{Member: own, Revision: revision}
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	_, err := core.AtLeader(ctx, m.api, confirmTrust, c, m.takeConfirm)
	return err
}
