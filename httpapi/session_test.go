package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/pagewire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// cookieOf returns the cookie of an answer.
func cookieOf(t *testing.T, r *reply) *http.Cookie {
	t.Helper()
	c, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
	if r.status != http.StatusOK || err != nil {
		t.Fatalf("status %d, cookie %q: %s", r.status, r.header.Get("Set-Cookie"), r.body)
	}
	return c
}

// signIn signs in and returns the header with the session.
func (s *site) signIn(t *testing.T, body string, headers ...string) []string {
	t.Helper()
	c := cookieOf(t, s.do(http.MethodPost, "/session", body, headers...))
	return []string{"Cookie", c.Name + "=" + c.Value}
}

func withToken(token string) string { return `{"token":"` + token + `"}` }

// A session is a cookie that scripts cannot read, with the rights of its token; its end clears the cookie.
func TestASession(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var in pagewire.SignedIn
	answer := s.do(http.MethodPost, "/session", withToken(ann))
	answer.into(&in)
	c := cookieOf(t, answer)
	if c.Name != "berth-c" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure || c.MaxAge != int(session.Life/time.Second) {
		t.Errorf("the cookie is %q", answer.header.Get("Set-Cookie"))
	}
	if strings.Contains(string(answer.body), c.Value) || in.Name != "ann" || in.Session.Parent != auth.ID(auth.HashOf(ann)) || in.Session.ID != auth.ID(auth.HashOf(c.Value)) {
		t.Errorf("the answer is %s", answer.body)
	}
	with := []string{"Cookie", "other=1; " + c.Name + "=" + c.Value}
	var me wire.Whoami
	s.do(http.MethodGet, "/whoami", "", with...).into(&me)
	if me.Name != "ann" || me.Role != "user" || me.Actor != "user:ann" || me.Session == nil || *me.Session != in.Session || !me.ExpiresAt.Equal(in.Session.ExpiresAt) {
		t.Errorf("whoami is %+v", me)
	}
	read := s.do(http.MethodGet, "/queue", "", with...)
	if read.into(new(wire.Queue)); read.header.Get(wire.HeaderExpires) != "" {
		t.Error("a session of 12 hours warns of its end")
	}
	s.do(http.MethodPost, "/queue/submit", `{"command":"x"}`, with...).into(new(wire.Submitted))
	s.do(http.MethodGet, "/users", "", with...).problem(http.StatusForbidden, "denied")
	var all wire.Tokens
	s.do(http.MethodGet, "/tokens", "", with...).into(&all)
	i := slices.IndexFunc(all.Tokens, func(v wire.Token) bool { return v.Session })
	if len(all.Tokens) != 2 || i < 0 || all.Tokens[i].ID != in.Session.ID || all.Tokens[i].Parent != in.Session.Parent || !all.Tokens[i].Current || all.Tokens[i].User != "ann" || all.Tokens[i].Role != "user" {
		t.Errorf("the tokens are %+v", all.Tokens)
	}
	if out := cookieOf(t, s.do(http.MethodDelete, "/session", "", with...)); out.Name != c.Name || out.MaxAge >= 0 || out.Value != "" || !out.HttpOnly || out.Path != "/" {
		t.Errorf("the end sets %+v", out)
	}
	s.do(http.MethodGet, "/whoami", "", with...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodDelete, "/session", "", with...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodGet, "/whoami", "", as(ann)...).into(&me)
}

// Only a user's valid token signs in, and what is refused changes nothing.
func TestWhatDoesNotSignIn(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var keys auth.Keys
	if err := keys.Add(service, auth.Key{Name: "nightly", Role: model.RoleUser}); err != nil {
		t.Fatal(err)
	}
	s.api.TakeOver(core.Terms{Keys: keys})
	var old wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"expires_in":"1h"}`, as(ann)...).into(&old)
	s.with(func(c *statetest.Cluster) { c.Wait(2 * time.Hour) })
	with := s.signIn(t, withToken(ann))
	secret := strings.TrimPrefix(with[1], "berth-c=")
	before := s.State()
	for body, code := range map[string]string{
		withToken("berth_of_nobody"):               wire.CodeUnauthenticated,
		withToken(old.Secret):                      wire.CodeUnauthenticated,
		withToken(secret):                          wire.CodeUnauthenticated,
		withToken(strings.Repeat("x", 5000)):       wire.CodeUnauthenticated,
		withToken(agent):                           "denied",
		withToken(service):                         "denied",
		`{"code":"berth_of_nobody"}`:               "denied",
		`{"code":"` + ann + `"}`:                   "denied",
		`{"code":"` + secret + `"}`:                "denied",
		`{}`:                                       wire.CodeInvalid,
		`{"token":"` + ann + `","code":"berth_x"}`: wire.CodeInvalid,
		`{"token":""}`:                             wire.CodeInvalid,
		`{"token":7}`:                              wire.CodeInvalid,
		`{"token":"` + ann + `","role":"admin"}`:   wire.CodeInvalid,
		`["` + ann + `"]`:                          wire.CodeMalformed,
		``:                                         wire.CodeMalformed,
		`{"token":"` + strings.Repeat("x", 17<<10) + `"}`: wire.CodeTooLarge,
	} {
		got := s.do(http.MethodPost, "/session", body)
		if p := (wire.Problem{}); json.Unmarshal(got.body, &p) != nil || p.Code != code || got.header.Get("Set-Cookie") != "" || strings.Contains(string(got.body), ann) {
			t.Errorf("%.60s: %d %s %s", body, got.status, got.body, got.header.Get("Set-Cookie"))
		}
	}
	s.do(http.MethodPost, "/session", withToken(ann), "Origin", "https://example.org").problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/session", withToken(ann), "Sec-Fetch-Site", "same-site").problem(http.StatusForbidden, "denied")
	s.do(http.MethodDelete, "/session", "", as(ann)...).problem(http.StatusConflict, model.CodeConflict.String())
	s.do(http.MethodPost, "/session/codes", "", as(service)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodPost, "/session/codes", "").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if after := s.State(); after.Sessions.Len() != before.Sessions.Len() || after.Index != before.Index {
		t.Errorf("%d sessions at %d, there were %d at %d", after.Sessions.Len(), after.Index, before.Sessions.Len(), before.Index)
	}
}

// The cookie counts only where no other credential is shown, and only for pages of the peers.
func TestWhereACookieCounts(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p2", RaftAddress: "10.0.0.2:7000", APIAddress: "10.0.0.2:10000"}})
	})
	with := s.signIn(t, withToken(ann))
	var me wire.Whoami
	s.do(http.MethodGet, "/whoami", "", append(as(bob), with...)...).into(&me)
	if me.Name != "bob" || me.Session != nil {
		t.Errorf("a token next to a cookie gives %+v", me)
	}
	s.do(http.MethodGet, "/whoami", "", append(as("berth_of_nobody"), with...)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	for _, one := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Origin", "https://10.0.0.2:10000", "Sec-Fetch-Site", "same-site"}, http.StatusOK}, // the page of another peer
		{[]string{"Origin", s.url, "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{[]string{"Origin", s.url}, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "none"}, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "same-site"}, http.StatusUnauthorized},
		{[]string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, http.StatusUnauthorized}, // another server on this host
		{[]string{"Origin", "http://127.0.0.1:1"}, http.StatusUnauthorized},
		{[]string{"Origin", "null"}, http.StatusUnauthorized},
		{[]string{"Origin", "https://10.0.0.2:10001", "Sec-Fetch-Site", "cross-site"}, http.StatusUnauthorized},
	} {
		got := s.do(http.MethodGet, "/whoami", "", append(one.headers, with...)...)
		submitted := s.do(http.MethodPost, "/queue/submit", `{"command":"x"}`, append(one.headers, with...)...)
		ours := strings.HasPrefix(one.headers[1], "https://10.0.0.2:10000")
		if got.status != one.status || (submitted.status == http.StatusOK) != (one.status == http.StatusOK) || (got.header.Get("Access-Control-Allow-Credentials") == "true") != ours {
			t.Errorf("%v: read %d, written %d, %q", one.headers, got.status, submitted.status, got.header.Get("Access-Control-Allow-Credentials"))
		}
	}
	s.do(http.MethodGet, "/whoami", "", "Cookie", with[1]+"; "+with[1]+"x").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodGet, "/whoami", "", "Cookie", strings.Replace(with[1], "berth-c", "berth-d", 1)).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodGet, "/whoami", "", "Cookie", "__Host-"+with[1]).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
}

// Two clusters on one host have cookies of their own: signing in to one, or out of it, leaves the other's alone.
func TestTwoClustersOnOneHost(t *testing.T) {
	t.Parallel()
	one, two := newGuarded(t), newGuarded(t)
	two.id = "d"
	a, b := one.signIn(t, withToken(ann)), two.signIn(t, withToken(bob))
	both := []string{"Cookie", a[1] + "; " + b[1]}
	for s, name := range map[*site]string{one: "ann", two: "bob"} {
		var me wire.Whoami
		if s.do(http.MethodGet, "/whoami", "", both...).into(&me); me.Name != name {
			t.Errorf("with both cookies cluster %s knows %s", s.id, me.Name)
		}
	}
	if out := cookieOf(t, one.do(http.MethodDelete, "/session", "", both...)); out.Name != "berth-c" {
		t.Errorf("cleared is %s", out.Name)
	}
	two.do(http.MethodGet, "/whoami", "", both...).into(new(wire.Whoami))
}

// Over TLS, or through a trusted proxy that has TLS, the cookie is for this host alone; a follower passes that on.
func TestACookieOverTLS(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	https := []string{"X-Forwarded-Proto", "https"}
	if c := cookieOf(t, s.do(http.MethodPost, "/session", withToken(ann), https...)); c.Secure {
		t.Error("the header of a client that is no proxy counts")
	}
	proxies, _ := auth.ParseProxies([]string{"127.0.0.1"})
	s.api.TakeOver(core.Terms{Proxies: proxies})
	f := newFollower(t, s, auth.Keys{})
	f.api.TakeOver(core.Terms{Proxies: proxies})
	for _, at := range []*site{s, f} {
		c := cookieOf(t, at.do(http.MethodPost, "/session", withToken(ann), https...))
		if c.Name != "__Host-berth-c" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("over TLS the cookie is %+v", c)
		}
		with := append([]string{"Cookie", c.Name + "=" + c.Value}, https...)
		at.do(http.MethodGet, "/whoami", "", with...).into(new(wire.Whoami))
		at.do(http.MethodGet, "/whoami", "", with[:2]...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
		at.do(http.MethodPost, "/queue/submit", `{"command":"x"}`, with...).into(new(wire.Submitted))
		if out := cookieOf(t, at.do(http.MethodDelete, "/session", "", with...)); out.Name != c.Name || !out.Secure || out.MaxAge >= 0 {
			t.Errorf("cleared is %+v", out)
		}
	}
}

// Without authentication there is nothing to sign in to.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, one := range [][3]string{{http.MethodPost, "/session", withToken(ann)}, {http.MethodPost, "/session/codes", ""}, {http.MethodDelete, "/session", ""}} {
		if p := s.do(one[0], one[1], one[2]).problem(http.StatusConflict, model.CodeConflict.String()); !strings.Contains(p.Detail, "no sign-in is needed") {
			t.Errorf("%v: %s", one, p.Detail)
		}
	}
}

// A code signs in once, whichever of several peers it is shown to.
func TestACode(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	f := newFollower(t, s, auth.Keys{})
	var code pagewire.Code
	for _, with := range [][]string{as(ann), s.signIn(t, withToken(ann))} {
		f.do(http.MethodPost, "/session/codes", "", with...).into(&code)
		if life := time.Duration(model.TimeOf(code.ExpiresAt) - model.TimeOf(s.now())); life <= 0 || life > time.Minute {
			t.Errorf("the code is good for %s", life)
		}
		answers := make([]*reply, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = []*site{s, f}[i%2].do(http.MethodPost, "/session", `{"code":"`+code.Code+`"}`) })
		}
		all.Wait()
		good := 0
		for _, a := range answers {
			if a.status == http.StatusOK {
				good++
				continue
			}
			a.problem(http.StatusForbidden, "denied")
		}
		if good != 1 {
			t.Errorf("a code has opened %d sessions", good)
		}
		s.do(http.MethodGet, "/whoami", "", as(code.Code)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	s.do(http.MethodPost, "/session/codes", "", as(ann)...).into(&code)
	s.with(func(c *statetest.Cluster) { c.Wait(time.Minute) })
	s.do(http.MethodPost, "/session", `{"code":"`+code.Code+`"}`).problem(http.StatusForbidden, "denied")
}
