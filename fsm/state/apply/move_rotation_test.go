package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// rotating is a cluster with a peer and a node whose certificates are recorded.
func rotating(t *testing.T) (c *statetest.Cluster, p1, n1 membership.Member) {
	t.Helper()
	c = statetest.New(t)
	c.Node("n1", 1)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: "10.0.0.1:7000", APIAddress: "10.0.0.1:10000"}})
	c.Do(joining(c, model.RolePeer, "p1", 0, 1))
	c.Do(joining(c, model.RoleAgent, "n1", 0, 2))
	return c, membership.Member{Role: model.RolePeer, Name: "p1"}, membership.Member{Role: model.RoleAgent, Name: "n1"}
}

// beginOf is a rotation of each kind.
func beginOf(what membership.Rotation, revision uint64) *command.BeginRotation {
	b := &command.BeginRotation{Rotation: what, Revision: revision}
	if what == membership.RotationAuthority {
		b.Former, b.Next, b.Link = "AAAA", "AAAB", "AAAC"
	}
	return b
}

// A credential is accepted everywhere before it is used, and used everywhere before its predecessor is refused.
func TestRotationWaitsForEachMember(t *testing.T) {
	t.Parallel()
	const what = membership.RotationAuthority
	c, p1, n1 := rotating(t)
	wantCode(t, c.Try(&command.AdvanceRotation{}), model.CodeConflict) // there is none
	wantCode(t, c.Try(&command.AbortRotation{}), model.CodeConflict)
	wantCode(t, c.Try(beginOf(what, 1)), model.CodeConflict) // made for another revision
	c.Do(beginOf(what, 0))
	wantCode(t, c.Try(beginOf(membership.RotationLeaf, 1)), model.CodeConflict) // one at a time
	trust := func() [2]string {
		v := c.State.Trust()
		return [2]string{v.Authority, v.Accepted}
	}
	want := [3][2]string{{"AAAA", "AAAB"}, {"AAAB", "AAAA"}, {"AAAB"}}
	for step := range want {
		v := c.State.Trust()
		if trust() != want[step] || v.Revision != uint64(step+1) || v.Switched != (step == 1) {
			t.Fatalf("%s, step %d: %+v", what, step, v)
		}
		if step == 2 {
			break
		}
		c.Do(&command.ConfirmTrust{Member: p1, Revision: v.Revision})
		c.Do(&command.ConfirmTrust{Member: n1, Revision: v.Revision - 1}) // of the step before
		r := c.Try(&command.AdvanceRotation{Revision: v.Revision})
		if r.Code != model.CodeConflict || !strings.Contains(r.Detail, "node n1") || strings.Contains(r.Detail, "peer p1") {
			t.Fatalf("%s, step %d went on without the node: %+v", what, step, r)
		}
		c.Do(joining(c, model.RoleAgent, "n1", 0, byte(3+step))) // that a certificate was handed out is no proof that it is used
		wantCode(t, c.Try(&command.AdvanceRotation{Revision: v.Revision}), model.CodeConflict)
		c.Do(&command.ConfirmTrust{Member: n1, Revision: v.Revision + 5}) // more than there is counts as the present
		wantCode(t, c.Try(&command.AdvanceRotation{Revision: v.Revision - 1}), model.CodeConflict)
		c.Do(&command.AdvanceRotation{Revision: v.Revision})
		if step == 0 {
			wantCode(t, c.Try(&command.AbortRotation{}), model.CodeConflict) // too late
		}
	}
	if v := c.State.Trust(); v.Rotation != membership.RotationNone || v.Revision != 3 {
		t.Errorf("at the end: %+v", v)
	}
	wrong := beginOf(what, 3)
	wrong.Former = "AAAE"
	wantCode(t, c.Try(wrong), model.CodeConflict) // of a peer that knows another one
	linkStays(t, c)
}

// linkStays checks that users that know the former authority can follow until the next one is in use.
func linkStays(t *testing.T, c *statetest.Cluster) {
	t.Helper()
	next := beginOf(membership.RotationAuthority, 3)
	next.Former, next.Next, next.Link = "AAAB", "AAAD", "AAAE"
	for _, cmd := range []command.Body{next, &command.AbortRotation{}} {
		c.Do(cmd)
		if v := c.State.Trust(); v.Link != "AAAC" {
			t.Errorf("the link of the present authority is %q", v.Link)
		}
	}
}

// Certificates alone are replaced in one step.
func TestRotationOfCertificates(t *testing.T) {
	t.Parallel()
	c, p1, n1 := rotating(t)
	c.Do(beginOf(membership.RotationLeaf, 0))
	for _, m := range []membership.Member{p1, n1} {
		wantCode(t, c.Try(&command.AdvanceRotation{Revision: 1}), model.CodeConflict)
		c.Do(&command.ConfirmTrust{Member: m, Revision: 1})
	}
	c.Do(&command.AdvanceRotation{Revision: 1})
	if v := c.State.Trust(); v.Revision != 1 || v.Rotation != membership.RotationNone {
		t.Errorf("at the end: %+v", v)
	}
}

// Until the next credential is used, the rotation may end without it.
func TestRotationIsAborted(t *testing.T) {
	t.Parallel()
	c, _, _ := rotating(t)
	c.Do(beginOf(membership.RotationAuthority, 0))
	c.Do(&command.AbortRotation{})
	if v := c.State.Trust(); v.Revision != 2 || v.Rotation != membership.RotationNone || v.Authority != "AAAA" || v.Accepted != "" || v.Link != "" ||
		v.NextLink != "" {
		t.Errorf("aborted: %+v", v)
	}
	c.Do(beginOf(membership.RotationLeaf, 2))
	c.Do(&command.AbortRotation{})
	if v := c.State.Trust(); v.Revision != 3 || v.Rotation != membership.RotationNone {
		t.Errorf("after the replacement of certificates was aborted: %+v", v)
	}
}

// A rotation waits for all that are members: those whose certificates were never recorded, and those that joined; not for
// those that were revoked or have expired. A machine that joins gets the present revision with its certificate.
func TestRotationWaitsForMembersOnly(t *testing.T) {
	t.Parallel()
	c, p1, n1 := rotating(t)
	c.Node("n2", 1)
	n2 := membership.Member{Role: model.RoleAgent, Name: "n2"}
	c.Do(beginOf(membership.RotationLeaf, 0))
	late := func(want ...membership.Member) {
		t.Helper()
		behind, _ := c.State.Trusted().Behind(1, c.Now)
		if len(behind) != len(want) {
			t.Fatalf("behind are %v, want %v", behind, want)
		}
		for i := range want {
			if behind[i] != want[i] {
				t.Fatalf("behind are %v, want %v", behind, want)
			}
		}
	}
	late(n1, n2, p1)
	wantCode(t, c.Try(&command.ConfirmTrust{Member: n2, Revision: 1}), model.CodeNotFound)
	c.Do(&command.RevokeCertificate{Member: n1})
	joinToken(c, 1, model.RoleAgent, "n2")
	join := joining(c, model.RoleAgent, "n2", 1, 4)
	join.Revision = 1
	c.Do(join)
	late(p1)
	c.Wait(91 * 24 * time.Hour)
	late()
	joinToken(c, 2, model.RoleAgent, "n2") // with an empty disk, and an answer of a peer that lags
	c.Do(joining(c, model.RoleAgent, "n2", 2, 5))
	late(n2)
	joinToken(c, 3, model.RoleAgent, "n2")
	ahead := joining(c, model.RoleAgent, "n2", 3, 6)
	ahead.Revision = 9 // of a peer that is ahead of the state
	c.Do(ahead)
	if row, _ := c.State.Certificates.Get(n2); row.Revision != 1 {
		t.Errorf("revision %d is recorded", row.Revision)
	}
}
