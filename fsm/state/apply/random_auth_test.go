package apply

import (
	"cmp"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
)

func drawHash(g *gen) (h model.Hash) {
	h[0], h[31] = byte(g.roll(200)), 1
	return h
}

func anybody(g *gen) string { return pick(g, "alice", "bob", "carol", "dave") }

func anyToken(g *gen) model.Hash {
	if hash, ok := first(g.s.Tokens, drawHash(g)); ok {
		return hash
	}
	return drawHash(g)
}

func drawFoundAuth(g *gen) command.Body {
	return &command.FoundAuth{Token: drawHash(g)}
}

func drawMakeToken(g *gen) command.Body {
	b := &command.MakeToken{Hash: drawHash(g), Name: pick(g, "", "laptop"), User: anybody(g), Role: model.Role(g.roll(7))}
	switch {
	case b.Role == model.RoleAgent:
		b.User = pick(g, "", string(anyNode(g)))
	case b.Role == model.RolePeer:
		b.User = pick(g, "", "p1", "p7")
	case g.roll(3) == 0:
		b.Expires = g.at
	}
	if b.Role >= model.RoleAgent {
		b.Expires, b.Network = g.at.Add(time.Duration(g.roll(3))*time.Hour), pick(g, "", "10.0.0.0/8")
	}
	if g.roll(3) == 0 {
		b.Spend = anyToken(g)
	}
	return b
}

// drawRecordCertificate draws the certificate of a member that joins or renews, now and then of a machine that asks again.
func drawRecordCertificate(g *gen) command.Body {
	b := &command.RecordCertificate{
		Member: anyMember(g), Serial: pick(g, "01", "02"), Key: model.Hash{byte(1 + g.roll(3))}, Issued: g.at,
		Expires: g.at.Add(time.Hour),
	}
	b.Revision = aRevision(g)
	// a member whose certificate was not recorded yet
	if behind, _ := g.s.Trusted().Behind(b.Revision, g.at); len(behind) > 0 && g.roll(2) == 0 {
		b.Member = behind[g.roll(len(behind))]
		return b
	}
	if g.roll(3) > 0 {
		b.Token, b.Renewal = anyToken(g), g.roll(2) == 0
		if token, found := g.s.Tokens.Get(b.Token); found && token.Joins() && g.roll(8) > 0 {
			b.Member.Role = token.Role
			if token.User != "" {
				b.Member.Name = token.User
			}
		}
	}
	return b
}

// anyMember draws a member, which may not have joined.
func anyMember(g *gen) membership.Member {
	if g.roll(2) == 0 {
		return membership.Member{Role: model.RolePeer, Name: pick(g, "p1", "p7")}
	}
	return membership.Member{Role: model.RoleAgent, Name: pick(g, string(anyNode(g)), "gpu7", "gpu8")}
}

// aRevision draws the present revision of the trust, now and then another.
func aRevision(g *gen) uint64 {
	revision := g.s.Trust().Revision
	if revision > 0 && g.roll(8) == 0 {
		revision--
	}
	return revision
}

func drawBeginRotation(g *gen) command.Body {
	t := g.s.Trust()
	b := &command.BeginRotation{Rotation: membership.Rotation(1 + g.roll(3)/2), Revision: aRevision(g)}
	if b.Rotation == membership.RotationAuthority {
		b.Former, b.Next, b.Link = cmp.Or(t.Authority, "AAAA"), pick(g, "AAAB", "AAAC"), "AAAD"
	}
	if b.Former == b.Next && b.Next != "" {
		b.Next += "AAAA"
	}
	return b
}

// drawConfirmTrust draws that a member is as far as the cluster, most often one that was not.
func drawConfirmTrust(g *gen) command.Body {
	b := &command.ConfirmTrust{Member: anyMember(g), Revision: aRevision(g)}
	if behind, _ := g.s.Trusted().Behind(b.Revision, g.at); len(behind) > 0 && g.roll(8) > 0 {
		b.Member = behind[g.roll(len(behind))]
	}
	return b
}

func drawDropTokens(g *gen) command.Body {
	if g.roll(3) == 0 {
		return &command.DropTokens{Tokens: []model.Hash{anySession(g)}}
	}
	return &command.DropTokens{Tokens: []model.Hash{anyToken(g), drawHash(g)}[g.roll(2):]}
}

func drawSetUser(g *gen) command.Body {
	b := &command.SetUser{User: anybody(g), Role: model.Role(g.roll(5))}
	b.Join, b.Leave = []string{pick(g, "vision", "speech")}, []string{pick(g, "vision", "text")}
	b.Join, b.Leave = b.Join[g.roll(2):], b.Leave[g.roll(2):]
	return b
}

// anySession draws a session or a code, which may not be there or may have expired.
func anySession(g *gen) model.Hash {
	if hash, ok := first(g.s.Sessions, drawHash(g)); ok {
		return hash
	}
	return drawHash(g)
}

// aSession draws a session that is good, or else any.
func aSession(g *gen) model.Hash {
	for hash, row := range g.s.Sessions.All() {
		if !row.Code && row.Good(g.at) && g.roll(2) == 0 {
			return hash
		}
	}
	return anySession(g)
}

// drawMakeSession draws a session or a code, most often from a token that is good.
func drawMakeSession(g *gen) command.Body {
	b := &command.MakeSession{Hash: drawHash(g), From: anySession(g), Code: g.roll(2) == 0}
	if b.Hash[31] = 2; g.roll(2) == 0 { // never the hash of a token
		b.From = anyToken(g)
		for hash, token := range g.s.Tokens.All() {
			if _, human := token.Of(); human && token.Good(g.at) && g.roll(2) == 0 {
				b.From = hash
			}
		}
	}
	return b
}
