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
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// changeLimit bounds a change of the membership.
const changeLimit = 8 * time.Second

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

// removePeer removes a peer, and then refuses its certificates. A leader that is to go hands leadership over first, and the
// next leader carries the request out.
func (m members) removePeer(ctx context.Context, in *peerInput) (*core.Answer[wire.Gone], error) {
	st, err := m.known(in.ID)
	if err != nil {
		return nil, err
	}
	id := model.PeerID(in.ID)
	if err := m.mayGo(st, id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	if id == st.ID {
		if err := m.api.Peer.Members.Transfer(ctx, ""); err != nil {
			return nil, problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("peer %s leads, and no other peer took over: %v", id, err))
		}
		return nil, problem.Usual(wire.CodeNoLeader)
	}
	if err := m.api.Peer.Members.Remove(ctx, id); err != nil {
		return nil, err
	}
	_, index, err := m.api.Propose(ctx, in.Key, &command.RevokeCertificate{Member: membership.Member{Role: model.RolePeer, Name: in.ID}})
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("peer_removed", "of", id)
	text := fmt.Sprintf("peer %s is removed, and its certificates are refused; its process ends by itself. Another machine joins under another id: berth token join peer", id)
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: text}}, nil
}

// mayGo returns why a peer must stay: without it, those that are up would not be a majority.
func (m members) mayGo(st *peer.Status, id model.PeerID) error {
	ahead := m.api.Peer.Members.Clocks().Ahead // of those that have reported of late
	left, up := 0, 0
	for _, v := range st.Silence.Voters {
		if v == id {
			continue
		}
		left++
		if _, heard := ahead[v]; heard || v == st.ID {
			up++
		}
	}
	if votes.Tolerates(left, up) >= 0 {
		return nil
	}
	return problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("without peer %s, %d of %d voters would be up, and the cluster would stop: start the others first, or let another peer join", id, up, left))
}

func (m members) promotePeer(ctx context.Context, in *peerInput) (*core.Answer[wire.Gone], error) {
	st, err := m.known(in.ID)
	if err != nil {
		return nil, err
	}
	if slices.Contains(st.Silence.Voters, model.PeerID(in.ID)) {
		return m.changed("peer " + in.ID + " has a vote already")
	}
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
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
	case id == st.ID:
		return m.changed("peer " + in.ID + " leads")
	case !slices.Contains(st.Silence.Voters, id):
		return nil, problem.Refuse(model.CodeConflict.String(), "peer "+in.ID+" has no vote, so that it cannot lead: berth peers promote gives it one")
	}
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	if err := m.api.Peer.Members.Transfer(ctx, id); err != nil {
		return nil, problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("peer %s did not take over: %v: check that it is up and has caught up (berth peers)", id, err))
	}
	return m.changed("peer " + in.ID + " leads")
}

// changed answers a change outside the state.
func (m members) changed(text string) (*core.Answer[wire.Gone], error) {
	return &core.Answer[wire.Gone]{Index: m.api.Peer.Reader.State().Index, Body: &wire.Gone{Success: true, Message: text}}, nil
}
