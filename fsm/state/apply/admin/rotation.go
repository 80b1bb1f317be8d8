package admin

import (
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// BeginRotation begins to replace a credential: the next one is accepted by all members before one of them uses it.
func BeginRotation(t *tx.Tx, b *command.BeginRotation) command.Result {
	row, _ := t.Trusts.Get(state.Only{})
	switch {
	case row.Rotation != membership.RotationNone:
		return tx.Refuse(model.CodeConflict, "a rotation of %s is under way: berth cluster rotate shows how far that is, and --abort ends it", row.Rotation)
	case row.Revision != b.Revision:
		return tx.Refuse(model.CodeConflict, "what the cluster trusts has changed meanwhile (revision %d, not %d): try again", row.Revision, b.Revision)
	case b.Rotation == membership.RotationAuthority && row.Authority != "" && row.Authority != b.Former:
		return tx.Refuse(model.CodeConflict, "another %s is in use than this peer knows: try again", b.Rotation)
	}
	row.Rotation, row.By, row.Switched = b.Rotation, t.Actor, false
	if b.Rotation == membership.RotationAuthority {
		row.Authority, row.Accepted, row.NextLink = b.Former, b.Next, b.Link
	}
	return step(t, row)
}

// AdvanceRotation goes on to the next step: the next credential is used, and then the former one is no longer accepted.
func AdvanceRotation(t *tx.Tx, b *command.AdvanceRotation) command.Result {
	row, _ := t.Trusts.Get(state.Only{})
	if row.Rotation == membership.RotationNone || row.Revision != b.Revision {
		return tx.Refuse(model.CodeConflict, "there is no rotation at revision %d", b.Revision)
	}
	members := state.Trusted{Peers: t.Peers.Now(), Nodes: t.Nodes.Now(), Certificates: t.Certificates.Now()}
	if behind, _ := members.Behind(row.Revision, t.Clock); len(behind) > 0 {
		return tx.Refuse(model.CodeConflict, "the rotation waits for %s", named(behind))
	}
	switch {
	case row.Rotation == membership.RotationLeaf:
		row.Rotation = membership.RotationNone
		t.Trusts.Put(row)
		return tx.OK()
	case !row.Switched:
		row.Switched = true
		row.Authority, row.Accepted = row.Accepted, row.Authority
		row.Link, row.NextLink = row.NextLink, ""
	default:
		row.Rotation, row.Switched, row.Accepted = membership.RotationNone, false, ""
	}
	return step(t, row)
}

// AbortRotation ends a rotation whose next credential is not in use yet.
func AbortRotation(t *tx.Tx, _ *command.AbortRotation) command.Result {
	row, _ := t.Trusts.Get(state.Only{})
	switch {
	case row.Rotation == membership.RotationNone:
		return tx.Refuse(model.CodeConflict, "no rotation is under way")
	case row.Switched:
		return tx.Refuse(model.CodeConflict, "the next %s is in use already: the rotation can only be completed; a member that does not come back is left out by revoking its certificate (berth cert revoke)", row.Rotation)
	}
	leaf := row.Rotation == membership.RotationLeaf
	row.Rotation, row.Accepted, row.NextLink = membership.RotationNone, "", ""
	if leaf { // there is nothing to take back
		t.Trusts.Put(row)
		return tx.OK()
	}
	return step(t, row)
}

// step publishes another revision of the trust.
func step(t *tx.Tx, row membership.Trust) command.Result {
	row.Revision++
	row.Since = t.Clock
	t.Trusts.Put(row)
	return tx.OK()
}

// ConfirmTrust records which revision a member uses.
func ConfirmTrust(t *tx.Tx, b *command.ConfirmTrust) command.Result {
	row, known := t.Certificates.Get(b.Member)
	if !known {
		return tx.Refuse(model.CodeNotFound, "no certificate of %s is recorded", b.Member)
	}
	trust, _ := t.Trusts.Get(state.Only{})
	if revision := min(b.Revision, trust.Revision); revision > row.Revision {
		row.Revision = revision
		t.Certificates.Put(row)
	}
	return tx.OK()
}

// maxNamed is how many members a message names.
const maxNamed = 5

// named names some members.
func named(list []membership.Member) string {
	var names []string
	for i, m := range list {
		if i == maxNamed {
			names = append(names, "and more")
			break
		}
		names = append(names, m.String())
	}
	return strings.Join(names, ", ")
}
