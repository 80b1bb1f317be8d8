package admin_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Users list, create and revoke their own tokens, with no more rights than the token that they send.
func TestOwnTokens(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	tokens := func(token string) (out []wire.Token) {
		var list wire.Tokens
		s.Do(http.MethodGet, "/tokens", "", apitest.As(token)...).Into(&list)
		return list.Tokens
	}
	var made, narrow wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"name": "laptop", "expires_in": "7d"}`, apitest.As(apitest.Ann)...).Into(&made)
	if made.User != "ann" || made.Role != "user" || made.CreatedBy != "user:ann" || made.Expired {
		t.Errorf("made %+v", made)
	}
	s.Do(http.MethodPost, "/tokens", `{"user": "ann", "role": "viewer"}`, apitest.As(made.Secret)...).Into(&narrow)
	if narrow.Role != "viewer" || !narrow.ExpiresAt.Equal(made.ExpiresAt) {
		t.Errorf("a narrower one is %+v, of one that ends %s", narrow, made.ExpiresAt)
	}
	mine := tokens(apitest.Ann)
	if len(mine) != 3 || slices.ContainsFunc(mine, func(v wire.Token) bool { return v.User != "ann" }) ||
		!slices.ContainsFunc(mine, func(v wire.Token) bool { return v.Current && v.ID == auth.ID(auth.HashOf(apitest.Ann)) }) {
		t.Errorf("ann has %+v", mine)
	}
	if all := tokens(apitest.Adam); len(all) <= len(mine) {
		t.Errorf("an admin sees %d tokens", len(all))
	}
	for body, token := range map[string]string{
		`{"user": "bob"}`:      apitest.Ann,
		`{"role": "operator"}`: apitest.Ann,
		`{"role": "admin"}`:    apitest.Operator,
		`{"role": "user"}`:     narrow.Secret,
		`{"role": "agent"}`:    apitest.Ann,
		`{"role": "peer"}`:     apitest.Operator,
	} {
		s.Do(http.MethodPost, "/tokens", body, apitest.As(token)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	}
	for _, life := range []string{`"8d"`, `"never"`} {
		s.Do(http.MethodPost, "/tokens", `{"expires_in": `+life+`}`, apitest.As(made.Secret)...).About("expires_in")
	}
	s.Do(http.MethodPost, "/tokens", `{"expires_in": "6d"}`, apitest.As(made.Secret)...).Into(new(wire.MadeToken))
	s.Do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(apitest.Bob)), "", apitest.As(apitest.Ann)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodDelete, "/tokens/"+made.ID, "", apitest.As(apitest.Ann)...).Into(new(wire.Gone))
	s.Do(http.MethodGet, "/whoami", "", apitest.As(made.Secret)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/tokens?user=bob", "", apitest.As(apitest.Ann)...).Into(new(wire.Tokens))
	if got := tokens(apitest.Bob); len(got) != 1 {
		t.Errorf("bob has %+v", got)
	}
}

// A token that was made by oneself ends the streams that it opened when it is revoked.
func TestAnOwnTokenEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{}`, apitest.As(apitest.Ann)...).Into(&made)
	answers := map[string]<-chan *apitest.Reply{}
	for _, path := range []string{"/events", "/events?types=changed", "/queue?wait=1m&index=999999999"} {
		answers[path] = s.Open(path, made.Secret)
	}
	s.Settled(len(answers))
	s.Do(http.MethodDelete, "/tokens/"+made.ID, "", apitest.As(apitest.Ann)...).Into(new(wire.Gone))
	for path, answer := range answers {
		(<-answer).Closed(path, wire.CodeUnauthenticated)
	}
}

// A role that was lowered lowers the tokens that were made under it.
func TestTokensFollowTheRole(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"role": "user", "expires_in": "1h"}`, apitest.As(apitest.Ann)...).Into(&made)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetUser{User: "ann", Role: model.RoleViewer})
		c.Wait(time.Minute)
	})
	s.Do(http.MethodPost, "/queue/submit", `{"command": "x"}`, apitest.As(made.Secret)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	s.Do(http.MethodPost, "/tokens", `{"role": "user"}`, apitest.As(made.Secret)...).Problem(http.StatusForbidden, model.CodeDenied.String())
}
