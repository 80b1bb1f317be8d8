package apply

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
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
	b := &command.MakeToken{Hash: drawHash(g), Name: pick(g, "", "laptop"), User: anybody(g), Role: model.Role(g.roll(6))}
	if b.Role == model.RoleAgent {
		b.User = string(anyNode(g))
	}
	if g.roll(3) == 0 {
		b.Expires = g.at
	}
	if g.roll(3) == 0 {
		b.Spend = anyToken(g)
	}
	return b
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
