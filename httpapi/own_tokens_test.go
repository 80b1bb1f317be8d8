package httpapi

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Users list, create and revoke their own tokens, with no more rights than the token that they send.
func TestOwnTokens(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	tokens := func(token string) (out []wire.Token) {
		var list wire.Tokens
		s.do(http.MethodGet, "/tokens", "", as(token)...).into(&list)
		return list.Tokens
	}
	var made, narrow wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"name": "laptop", "expires_in": "7d"}`, as(ann)...).into(&made)
	if made.User != "ann" || made.Role != "user" || made.CreatedBy != "user:ann" || made.Expired {
		t.Errorf("made %+v", made)
	}
	s.do(http.MethodPost, "/tokens", `{"user": "ann", "role": "viewer"}`, as(made.Secret)...).into(&narrow)
	if narrow.Role != "viewer" || !narrow.ExpiresAt.Equal(made.ExpiresAt) {
		t.Errorf("a narrower one is %+v, of one that ends %s", narrow, made.ExpiresAt)
	}
	mine := tokens(ann)
	if len(mine) != 3 || slices.ContainsFunc(mine, func(v wire.Token) bool { return v.User != "ann" }) || !slices.ContainsFunc(mine, func(v wire.Token) bool { return v.Current && v.ID == auth.ID(auth.HashOf(ann)) }) {
		t.Errorf("ann has %+v", mine)
	}
	if all := tokens(adam); len(all) <= len(mine) {
		t.Errorf("an admin sees %d tokens", len(all))
	}
	for body, token := range map[string]string{
		`{"user": "bob"}`:      ann,
		`{"role": "operator"}`: ann,
		`{"role": "admin"}`:    operatr,
		`{"role": "user"}`:     narrow.Secret,
		`{"role": "agent"}`:    ann,
		`{"role": "peer"}`:     operatr,
	} {
		s.do(http.MethodPost, "/tokens", body, as(token)...).problem(http.StatusForbidden, model.CodeDenied.String())
	}
	for _, life := range []string{`"8d"`, `"never"`} {
		s.do(http.MethodPost, "/tokens", `{"expires_in": `+life+`}`, as(made.Secret)...).about("expires_in")
	}
	s.do(http.MethodPost, "/tokens", `{"expires_in": "6d"}`, as(made.Secret)...).into(new(wire.MadeToken))
	s.do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(bob)), "", as(ann)...).problem(http.StatusNotFound, wire.CodeNotFound)
	s.do(http.MethodDelete, "/tokens/"+made.ID, "", as(ann)...).into(new(wire.Gone))
	s.do(http.MethodGet, "/whoami", "", as(made.Secret)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodGet, "/tokens?user=bob", "", as(ann)...).into(new(wire.Tokens))
	if got := tokens(bob); len(got) != 1 {
		t.Errorf("bob has %+v", got)
	}
}

// A token that was made by oneself ends the streams that it opened when it is revoked.
func TestAnOwnTokenEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{}`, as(ann)...).into(&made)
	answers := map[string]<-chan *reply{}
	for _, path := range []string{"/events", "/events?types=changed", "/queue?wait=1m&index=999999999"} {
		answers[path] = s.open(path, made.Secret)
	}
	s.settled(len(answers))
	s.do(http.MethodDelete, "/tokens/"+made.ID, "", as(ann)...).into(new(wire.Gone))
	for path, answer := range answers {
		(<-answer).closed(path, wire.CodeUnauthenticated)
	}
}

// A role that was lowered lowers the tokens that were made under it.
func TestTokensFollowTheRole(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"role": "user", "expires_in": "1h"}`, as(ann)...).into(&made)
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.SetUser{User: "ann", Role: model.RoleViewer})
		c.Wait(time.Minute)
	})
	s.do(http.MethodPost, "/queue/submit", `{"command": "x"}`, as(made.Secret)...).problem(http.StatusForbidden, model.CodeDenied.String())
	s.do(http.MethodPost, "/tokens", `{"role": "user"}`, as(made.Secret)...).problem(http.StatusForbidden, model.CodeDenied.String())
}
