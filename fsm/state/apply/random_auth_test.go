package apply

import (
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
	b := &command.RecordCertificate{Member: anyMember(g), Serial: pick(g, "01", "02"), Key: model.Hash{byte(1 + g.roll(3))}, Issued: g.at, Expires: g.at.Add(time.Hour)}
	if g.roll(3) > 0 {
		b.Token = anyToken(g)
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

func drawDropTokens(g *gen) command.Body {
	return &command.DropTokens{Tokens: []model.Hash{anyToken(g), drawHash(g)}[g.roll(2):]}
}

func drawSetUser(g *gen) command.Body {
	b := &command.SetUser{User: anybody(g), Role: model.Role(g.roll(5))}
	b.Join, b.Leave = []string{pick(g, "vision", "speech")}, []string{pick(g, "vision", "text")}
	b.Join, b.Leave = b.Join[g.roll(2):], b.Leave[g.roll(2):]
	return b
}
