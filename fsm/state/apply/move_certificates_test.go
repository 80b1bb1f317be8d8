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

// joining is the certificate of a machine that joins with a token and has a key.
func joining(c *statetest.Cluster, role model.Role, name string, token, key byte) *command.RecordCertificate {
	b := &command.RecordCertificate{
		Member: membership.Member{Role: role, Name: name}, Serial: "0a", Key: hashOf(key), Issued: c.Now, Expires: c.Now.Add(90 * 24 * time.Hour),
	}
	if token > 0 {
		b.Token = hashOf(token)
	}
	return b
}

func joinToken(c *statetest.Cluster, hash byte, role model.Role, name string) {
	c.Do(&command.MakeToken{Hash: hashOf(hash), Role: role, User: name, Expires: c.Now.Add(time.Hour)})
}

// A join token lets one machine join, under its name and in its role, until it expires. The same machine may ask again.
func TestJoinTokenIsSpentOnce(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	gpu1 := membership.Member{Role: model.RoleAgent, Name: "gpu1"}
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu1", 9, 1)), model.CodeDenied) // there is no such token
	joinToken(c, 1, model.RoleAgent, "")
	wantCode(t, c.Try(joining(c, model.RolePeer, "gpu1", 1, 1)), model.CodeDenied) // of the other role
	c.Do(joining(c, model.RoleAgent, "gpu1", 1, 1))
	if row, found := c.State.Certificates.Get(gpu1); !found || row.Since != row.Issued || row.Token != hashOf(1) || c.State.Tokens.Len() != 0 {
		t.Errorf("recorded %+v, with %d tokens left", row, c.State.Tokens.Len())
	}
	c.Wait(time.Second)
	c.Do(joining(c, model.RoleAgent, "gpu1", 1, 1))                                 // its answer was lost
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu1", 1, 2)), model.CodeDenied) // another machine
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu2", 1, 1)), model.CodeDenied) // another name

	joinToken(c, 2, model.RoleAgent, "")
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu1", 2, 2)), model.CodeConflict) // would take the place of gpu1
	c.Wait(time.Hour)
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu2", 2, 2)), model.CodeDenied) // expired

	joinToken(c, 3, model.RoleAgent, "gpu1")
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu2", 3, 2)), model.CodeDenied) // of another name
	c.Do(joining(c, model.RoleAgent, "gpu1", 3, 2))                                 // takes the place of gpu1
	if row, _ := c.State.Certificates.Get(gpu1); row.Key != hashOf(2) || !row.Refuses(c.Now-1) || row.Refuses(c.Now) {
		t.Errorf("the former machine's certificates count: %+v", row)
	}
}

// A name that is in use without a recorded certificate is a member, too.
func TestJoinTokenWithoutNameTakesNoPlace(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("gpu1", 1)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "10.0.0.9:7000", APIAddress: "10.0.0.9:10000"}})
	joinToken(c, 1, model.RoleAgent, "")
	joinToken(c, 2, model.RolePeer, "")
	wantCode(t, c.Try(joining(c, model.RoleAgent, "gpu1", 1, 1)), model.CodeConflict)
	wantCode(t, c.Try(joining(c, model.RolePeer, "p9", 2, 1)), model.CodeConflict)
	c.Do(joining(c, model.RolePeer, "p10", 2, 1))
}

// No token lets another machine take the name of a peer: the new machine would lack the votes of the peer, and the peer would be cut off.
// Only the machine itself renews its certificate, with a token for its name.
func TestNoTokenTakesTheNameOfAPeer(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p9", RaftAddress: "10.0.0.9:7000", APIAddress: "10.0.0.9:10000"}}) // its certificate was issued by hand
	joinToken(c, 1, model.RolePeer, "")
	c.Do(joining(c, model.RolePeer, "p8", 1, 1)) // has joined, and was not started yet
	for i, name := range []string{"p8", "p9"} {
		plain, named := byte(10+i), byte(20+i)
		joinToken(c, plain, model.RolePeer, "")
		joinToken(c, named, model.RolePeer, name)
		before, _ := c.State.Certificates.Get(membership.Member{Role: model.RolePeer, Name: name})
		for _, token := range []byte{plain, named} {
			r := c.Try(joining(c, model.RolePeer, name, token, 2))
			wantCode(t, r, model.CodeConflict)
			if !strings.Contains(r.Detail, "--id") || !strings.Contains(r.Detail, "berth join peer --renew") || strings.Contains(r.Detail, "take its place") {
				t.Errorf("the message names other ways than the right ones: %s", r.Detail)
			}
			if free := strings.Contains(r.Detail, "berth cert revoke peer "+name); free != (name == "p8") {
				t.Errorf("%s: a revocation frees the name only where no peer has it: %s", name, r.Detail)
			}
		}
		if after, _ := c.State.Certificates.Get(before.Member); after != before {
			t.Errorf("%s is cut off: %+v", name, after)
		}
		renewal := joining(c, model.RolePeer, name, plain, 3)
		renewal.Renewal = true
		wantCode(t, c.Try(renewal), model.CodeConflict) // not for its name
		renewal.Token = hashOf(named)
		c.Do(renewal)
	}
	c.Do(&command.RevokeCertificate{Member: membership.Member{Role: model.RolePeer, Name: "p8"}})
	c.Wait(time.Minute)
	removed := joining(c, model.RolePeer, "p8", 10, 4)
	removed.Renewal = true
	wantCode(t, c.Try(removed), model.CodeConflict) // what was removed does not come back with its folder
	c.Do(joining(c, model.RolePeer, "p8", 10, 5))   // that machine is gone, and had never started
	c.Do(&command.RevokeCertificate{Member: membership.Member{Role: model.RolePeer, Name: "p9"}})
	c.Wait(time.Minute)
	wantCode(t, c.Try(joining(c, model.RolePeer, "p9", 11, 5)), model.CodeConflict) // a revoked peer keeps its votes
}

// Renewals need no token and leave the member as it is. After a revocation only a new token helps.
func TestRevokedCertificates(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Now = c.Now.Add(time.Second / 2)
	p4 := membership.Member{Role: model.RolePeer, Name: "p4"}
	c.Do(joining(c, model.RolePeer, "p4", 0, 1)) // issued without the cluster, and renewed
	joinToken(c, 1, model.RolePeer, "p4")
	first := joining(c, model.RolePeer, "p4", 1, 1)
	first.Renewal = true
	c.Do(first)
	c.Wait(time.Minute)
	c.Do(joining(c, model.RolePeer, "p4", 0, 2))
	if row, _ := c.State.Certificates.Get(p4); row.Key != hashOf(2) || row.Since != first.Issued || row.Token != hashOf(1) {
		t.Errorf("after a renewal: %+v", row)
	}
	c.Do(&command.RevokeCertificate{Member: p4}) // twice is as once
	c.Do(&command.RevokeCertificate{Member: p4})
	if row, _ := c.State.Certificates.Get(p4); !row.Revoked || !row.Refuses(c.Now) || row.Refuses(c.Now.Add(time.Second)) ||
		row.Since%model.Time(time.Second) != 0 {
		t.Errorf("after the revocation: %+v", row)
	}
	wantCode(t, c.Try(joining(c, model.RolePeer, "p4", 0, 2)), model.CodeDenied)
	c.Wait(time.Minute)
	wantCode(t, c.Try(joining(c, model.RolePeer, "p4", 0, 2)), model.CodeDenied) // nor does time help
	joinToken(c, 2, model.RolePeer, "")
	c.Do(joining(c, model.RolePeer, "p4", 2, 3)) // there is no peer p4 any more, so the name is free
	newest, _ := c.State.Certificates.Get(p4)
	older := joining(c, model.RolePeer, "p4", 0, 9)
	c.Wait(time.Minute)
	c.Do(joining(c, model.RolePeer, "p4", 0, 3))
	c.Do(older) // a record that was late
	if row, _ := c.State.Certificates.Get(p4); row.Issued <= newest.Issued || row.Key == hashOf(9) {
		t.Errorf("an older certificate took the place of a newer one: %+v", row)
	}
	if row, _ := c.State.Certificates.Get(p4); row.Revoked || row.Refuses(newest.Issued) || !row.Refuses(newest.Issued-1) {
		t.Errorf("joined again: %+v", row)
	}
	c.Do(&command.RevokeCertificate{Member: membership.Member{Role: model.RoleAgent, Name: "issued-by-hand"}})
}

// Members whose certificates expired long ago are forgotten.
func TestExpiredMembersAreForgotten(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Do(joining(c, model.RoleAgent, "gpu1", 0, 1))
	c.Wait(90*24*time.Hour + membership.KeepExpired + time.Second)
	c.Do(joining(c, model.RoleAgent, "gpu2", 0, 1))
	if c.State.Certificates.Len() != 1 {
		t.Errorf("%d members are known", c.State.Certificates.Len())
	}
}
