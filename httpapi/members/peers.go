package members

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// peerInput is the input of a change of a peer.
type peerInput struct {
	Key string `header:"Idempotency-Key"`
	ID  string `path:"peer_id" maxLength:"128"`
}

// peerRoutes adds the paths for changes of the membership.
func (m members) peerRoutes(doc huma.API) {
	o := core.Op("remove-peer", http.MethodDelete, "/cluster/peers/{peer_id}", "Remove a peer from the cluster")
	o.Description = "Refused if the peers that are up would not be a majority afterwards. All certificates of the peer are refused from then on; another machine needs another id."
	core.Handle(m.api, doc, o, m.removePeer)
	core.Handle(m.api, doc, core.Op("promote-peer", http.MethodPost, "/cluster/peers/{peer_id}/promote", "Give a peer a vote at once"), m.promotePeer)
	core.Handle(m.api, doc, core.Op("transfer-leadership", http.MethodPost, "/cluster/peers/{peer_id}/lead", "Let a peer lead"), m.transfer)
}

// known returns an error unless a peer is a member.
func (m members) known(id string) (*peer.Status, error) {
	st := m.api.Peer.Members.Status()
	if !slices.ContainsFunc(st.Servers, func(s peer.Server) bool { return string(s.ID) == id }) {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no peer "+id+": berth peers lists all")
	}
	return &st, nil
}

// unheard is how long a new leader may take until all members that are up have answered one of its messages.
const unheard = 5 * time.Second

// settled returns the status of this peer, as soon as the status tells which members are up: a new leader waits for their first answers.
func (m members) settled(ctx context.Context) peer.Status {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		st := m.api.Peer.Members.Status()
		silent := slices.ContainsFunc(st.Silence.Voters, func(v model.PeerID) bool { return !slices.Contains(st.Up, v) })
		if !silent || st.Leading == 0 || st.Leading >= unheard {
			return st
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return st
		}
	}
}

// removePeer removes a peer, and then refuses its certificates. A leader that is to go hands leadership over first, and the
// next leader carries the request out.
func (m members) removePeer(ctx context.Context, in *peerInput) (*core.Answer[wire.Gone], error) {
	id := model.PeerID(in.ID)
	s := m.api.State()
	_, err := m.known(in.ID)
	switch half := s.Certificates.Has(membership.Member{Role: model.RolePeer, Name: in.ID}); {
	case err != nil && !half:
		return nil, err
	case err == nil:
		if err := m.takeOut(ctx, id); err != nil {
			return nil, err
		}
	} // otherwise an earlier try has taken the peer out, and was cut off before the rest
	_, index, err := m.api.Propose(ctx, in.Key, &command.RevokeCertificate{Member: membership.Member{Role: model.RolePeer, Name: in.ID}})
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("peer_removed", "of", id, "by", auth.From(ctx).Actor())
	text := fmt.Sprintf("peer %s is removed, and its certificates are refused; its process ends by itself. Another machine joins under another id: berth token join peer", id)
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// takeOut removes a member from the configuration. A leader hands leadership over first.
func (m members) takeOut(ctx context.Context, id model.PeerID) error {
	st := m.settled(ctx)
	if st.Role != peer.RoleLeader {
		return problem.Usual(wire.CodeNoLeader)
	}
	if err := m.mayGo(&st, id); err != nil {
		return err
	}
	if id != st.ID {
		return m.api.Peer.Members.Remove(ctx, id)
	}
	if err := m.api.Peer.Members.Transfer(ctx, ""); err != nil {
		return err
	}
	return problem.Usual(wire.CodeNoLeader) // the next leader carries the request out
}

// mayGo returns why a peer must stay: without it, those that are up would not be a majority.
func (m members) mayGo(st *peer.Status, id model.PeerID) error {
	left, up := m.votersBeside(st, id)
	if votes.Tolerates(left, up) >= 0 {
		return nil
	}
	return problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("without peer %s, %d of %d voters would be up, and the cluster would stop: start the others first, or let another peer join", id, up, left))
}

// votersBeside returns how many other voters a peer has, and how many of these are up: they take part, and their certificates count.
func (m members) votersBeside(st *peer.Status, id model.PeerID) (left, up int) {
	s := m.api.State()
	for _, v := range st.Silence.Voters {
		if v == id {
			continue
		}
		left++
		row, _ := s.Certificates.Get(membership.Member{Role: model.RolePeer, Name: string(v)})
		if slices.Contains(st.Up, v) && !row.Revoked {
			up++
		}
	}
	return left, up
}

// mayRevoke returns why the certificates of a peer must go on to count: without the peer, which stays a voter, those that are up would not
// be a majority.
func (m members) mayRevoke(ctx context.Context, id model.PeerID) error {
	st := m.settled(ctx)
	left, up := m.votersBeside(&st, id)
	if !slices.Contains(st.Silence.Voters, id) || votes.Tolerates(left+1, up) >= 0 {
		return nil
	}
	return problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("peer %s keeps its vote when its certificates are refused, and %d of the other %d voters are up: the cluster would stop. Start the others first, "+
		"or remove the peer (berth peers remove); --force does it all the same, and then nothing is answered until peers have certificates that berth cert issue has made since", id, up, left))
}

func (m members) promotePeer(ctx context.Context, in *peerInput) (*core.Answer[wire.Gone], error) {
	st, err := m.known(in.ID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(st.Silence.Voters, model.PeerID(in.ID)) {
		return m.changed("peer " + in.ID + " has a vote already")
	}
	if !slices.Contains(m.settled(ctx).Up, model.PeerID(in.ID)) {
		return nil, problem.Refuse(model.CodeConflict.String(), "peer "+in.ID+" is not up: with its vote the cluster could stop; start it first, or remove it with berth peers remove")
	}
	m.api.Log.Info("peer_promoted", "of", in.ID, "by", auth.From(ctx).Actor())
	if err := m.api.Peer.Members.Promote(ctx, model.PeerID(in.ID)); err != nil {
		return nil, err
	}
	return m.changed("peer " + in.ID + " has a vote")
}

func (m members) transfer(ctx context.Context, in *peerInput) (*core.Answer[wire.Gone], error) {
	st, err := m.known(in.ID)
	if err != nil {
		return nil, err
	}
	id := model.PeerID(in.ID)
	switch {
	case st.Role != peer.RoleLeader:
		return nil, problem.Usual(wire.CodeNoLeader)
	case id == st.ID:
		return m.changed("peer " + in.ID + " leads")
	case !slices.Contains(st.Silence.Voters, id):
		return nil, problem.Refuse(model.CodeConflict.String(), "peer "+in.ID+" has no vote, so that it cannot lead: berth peers promote gives it one")
	}
	m.api.Log.Info("leadership_transfer", "to", id, "by", auth.From(ctx).Actor())
	if err := m.api.Peer.Members.Transfer(ctx, id); err != nil {
		return nil, err
	}
	return m.changed("peer " + in.ID + " leads")
}

// changed answers a change outside the state.
func (m members) changed(text string) (*core.Answer[wire.Gone], error) {
	return &core.Answer[wire.Gone]{Index: m.api.State().Index, Body: &wire.Gone{Success: true, Message: text}}, nil
}
