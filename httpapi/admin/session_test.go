package admin_test

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
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// cookieOf returns the cookie of an answer.
func cookieOf(t *testing.T, r *apitest.Reply) *http.Cookie {
	t.Helper()
	c, err := http.ParseSetCookie(r.Header.Get("Set-Cookie"))
	if r.Status != http.StatusOK || err != nil {
		t.Fatalf("status %d, cookie %q: %s", r.Status, r.Header.Get("Set-Cookie"), r.Body)
	}
	return c
}

// signIn signs in and returns the header with the session.
func signIn(s *apitest.Site, t *testing.T, body string, headers ...string) []string {
	t.Helper()
	c := cookieOf(t, s.Do(http.MethodPost, "/session", body, headers...))
	return []string{"Cookie", c.Name + "=" + c.Value}
}

func withToken(token string) string { return `{"token":"` + token + `"}` }

// A session is a cookie that scripts cannot read, with the rights of its token; its end clears the cookie.
func TestASession(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var in wire.SignedIn
	answer := s.Do(http.MethodPost, "/session", withToken(apitest.Ann))
	answer.Into(&in)
	c := cookieOf(t, answer)
	if c.Name != "berth-c" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure ||
		c.MaxAge != int(session.Life/time.Second) {
		t.Errorf("the cookie is %q", answer.Header.Get("Set-Cookie"))
	}
	if strings.Contains(string(answer.Body), c.Value) || in.Name != "ann" || in.Session.Parent != auth.ID(auth.HashOf(apitest.Ann)) ||
		in.Session.ID != auth.ID(auth.HashOf(c.Value)) {
		t.Errorf("the answer is %s", answer.Body)
	}
	with := []string{"Cookie", "other=1; " + c.Name + "=" + c.Value}
	var me wire.Whoami
	s.Do(http.MethodGet, "/whoami", "", with...).Into(&me)
	if me.Name != "ann" || me.Role != "user" || me.Actor != "user:ann" || me.Session == nil || *me.Session != in.Session ||
		!me.ExpiresAt.Equal(in.Session.ExpiresAt) {
		t.Errorf("whoami is %+v", me)
	}
	read := s.Do(http.MethodGet, "/queue", "", with...)
	if read.Into(new(wire.Queue)); read.Header.Get(wire.HeaderExpires) != "" {
		t.Error("a session of 12 hours warns of its end")
	}
	s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, with...).Into(new(wire.Submitted))
	s.Do(http.MethodGet, "/users", "", with...).Problem(http.StatusForbidden, "denied")
	var all wire.Tokens
	s.Do(http.MethodGet, "/tokens", "", with...).Into(&all)
	i := slices.IndexFunc(all.Tokens, func(v wire.Token) bool { return v.Session })
	if len(all.Tokens) != 2 || i < 0 || all.Tokens[i].ID != in.Session.ID || all.Tokens[i].Parent != in.Session.Parent ||
		!all.Tokens[i].Current || all.Tokens[i].User != "ann" || all.Tokens[i].Role != "user" {
		t.Errorf("the tokens are %+v", all.Tokens)
	}
	if out := cookieOf(t, s.Do(http.MethodDelete, "/session", "", with...)); out.Name != c.Name || out.MaxAge >= 0 || out.Value != "" || !out.HttpOnly ||
		out.Path != "/" {
		t.Errorf("the end sets %+v", out)
	}
	s.Do(http.MethodGet, "/whoami", "", with...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodDelete, "/session", "", with...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/whoami", "", apitest.As(apitest.Ann)...).Into(&me)
}

// Only a user's valid token signs in, and what is refused changes nothing.
func TestWhatDoesNotSignIn(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var keys auth.Keys
	if err := keys.Add(apitest.ServiceKey, auth.Key{Name: "nightly", Role: model.RoleUser}); err != nil {
		t.Fatal(err)
	}
	s.API.TakeOver(core.Terms{Keys: keys})
	var old wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"expires_in":"1h"}`, apitest.As(apitest.Ann)...).Into(&old)
	s.With(func(c *statetest.Cluster) { c.Wait(2 * time.Hour) })
	with := signIn(s, t, withToken(apitest.Ann))
	secret := strings.TrimPrefix(with[1], "berth-c=")
	before := s.State()
	for body, code := range map[string]string{
		withToken("berth_of_nobody"):                       wire.CodeUnauthenticated,
		withToken(old.Secret):                              wire.CodeUnauthenticated,
		withToken(secret):                                  wire.CodeUnauthenticated,
		withToken(strings.Repeat("x", 5000)):               wire.CodeUnauthenticated,
		withToken(apitest.AgentOf2):                        "denied",
		withToken(apitest.ServiceKey):                      "denied",
		`{"code":"berth_of_nobody"}`:                       "denied",
		`{"code":"` + apitest.Ann + `"}`:                   "denied",
		`{"code":"` + secret + `"}`:                        "denied",
		`{}`:                                               wire.CodeInvalid,
		`{"token":"` + apitest.Ann + `","code":"berth_x"}`: wire.CodeInvalid,
		`{"token":""}`:                                     wire.CodeInvalid,
		`{"token":7}`:                                      wire.CodeInvalid,
		`{"token":"` + apitest.Ann + `","role":"admin"}`:   wire.CodeInvalid,
		`["` + apitest.Ann + `"]`:                          wire.CodeMalformed,
		``:                                                 wire.CodeMalformed,
		`{"token":"` + strings.Repeat("x", 17<<10) + `"}`:  wire.CodeTooLarge,
	} {
		got := s.Do(http.MethodPost, "/session", body)
		if p := (wire.Problem{}); json.Unmarshal(got.Body, &p) != nil || p.Code != code || got.Header.Get("Set-Cookie") != "" ||
			strings.Contains(string(got.Body), apitest.Ann) {
			t.Errorf("%.60s: %d %s %s", body, got.Status, got.Body, got.Header.Get("Set-Cookie"))
		}
	}
	s.Do(http.MethodPost, "/session", withToken(apitest.Ann), "Origin", "https://example.org").Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/session", withToken(apitest.Ann), "Sec-Fetch-Site", "same-site").Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodDelete, "/session", "", apitest.As(apitest.Ann)...).Problem(http.StatusConflict, model.CodeConflict.String())
	s.Do(http.MethodPost, "/session/codes", "", apitest.As(apitest.ServiceKey)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodPost, "/session/codes", "").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if after := s.State(); after.Sessions.Len() != before.Sessions.Len() || after.Index != before.Index {
		t.Errorf("%d sessions at %d, there were %d at %d", after.Sessions.Len(), after.Index, before.Sessions.Len(), before.Index)
	}
}

// The cookie counts only where no other credential is shown, and only for pages of the peers.
func TestWhereACookieCounts(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p2", RaftAddress: "10.0.0.2:7000", APIAddress: "10.0.0.2:10000"}})
	})
	with := signIn(s, t, withToken(apitest.Ann))
	var me wire.Whoami
	s.Do(http.MethodGet, "/whoami", "", append(apitest.As(apitest.Bob), with...)...).Into(&me)
	if me.Name != "bob" || me.Session != nil {
		t.Errorf("a token next to a cookie gives %+v", me)
	}
	s.Do(http.MethodGet, "/whoami", "", append(apitest.As("berth_of_nobody"), with...)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	for _, one := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Origin", "https://10.0.0.2:10000", "Sec-Fetch-Site", "same-site"}, http.StatusOK}, // the page of another peer
		{[]string{"Origin", s.URL, "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{[]string{"Origin", s.URL}, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "none"}, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "same-site"}, http.StatusUnauthorized},
		{[]string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, http.StatusUnauthorized}, // another server on this host
		{[]string{"Origin", "http://127.0.0.1:1"}, http.StatusUnauthorized},
		{[]string{"Origin", "null"}, http.StatusUnauthorized},
		{[]string{"Origin", "https://10.0.0.2:10001", "Sec-Fetch-Site", "cross-site"}, http.StatusUnauthorized},
	} {
		got := s.Do(http.MethodGet, "/whoami", "", append(one.headers, with...)...)
		submitted := s.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, append(one.headers, with...)...)
		ours := strings.HasPrefix(one.headers[1], "https://10.0.0.2:10000")
		if got.Status != one.status || (submitted.Status == http.StatusOK) != (one.status == http.StatusOK) || (got.Header.Get("Access-Control-Allow-Credentials") == "true") != ours {
			t.Errorf("%v: read %d, written %d, %q", one.headers, got.Status, submitted.Status, got.Header.Get("Access-Control-Allow-Credentials"))
		}
	}
	s.Do(http.MethodGet, "/whoami", "", "Cookie", with[1]+"; "+with[1]+"x").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/whoami", "", "Cookie", strings.Replace(with[1], "berth-c", "berth-d", 1)).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/whoami", "", "Cookie", "__Host-"+with[1]).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
}

// Two clusters on one host have cookies of their own: signing in to one, or out of it, leaves the other's alone.
func TestTwoClustersOnOneHost(t *testing.T) {
	t.Parallel()
	one, two := apitest.NewGuarded(t), apitest.NewGuarded(t)
	two.ID = "d"
	a, b := signIn(one, t, withToken(apitest.Ann)), signIn(two, t, withToken(apitest.Bob))
	both := []string{"Cookie", a[1] + "; " + b[1]}
	for s, name := range map[*apitest.Site]string{one: "ann", two: "bob"} {
		var me wire.Whoami
		if s.Do(http.MethodGet, "/whoami", "", both...).Into(&me); me.Name != name {
			t.Errorf("with both cookies cluster %s knows %s", s.ID, me.Name)
		}
	}
	if out := cookieOf(t, one.Do(http.MethodDelete, "/session", "", both...)); out.Name != "berth-c" {
		t.Errorf("cleared is %s", out.Name)
	}
	two.Do(http.MethodGet, "/whoami", "", both...).Into(new(wire.Whoami))
}

// Over TLS, or through a trusted proxy that has TLS, the cookie is for this host alone; a follower passes that on.
func TestACookieOverTLS(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	https := []string{"X-Forwarded-Proto", "https"}
	if c := cookieOf(t, s.Do(http.MethodPost, "/session", withToken(apitest.Ann), https...)); c.Secure {
		t.Error("the header of a client that is no proxy counts")
	}
	proxies, _ := auth.ParseProxies([]string{"127.0.0.1"})
	s.API.TakeOver(core.Terms{Proxies: proxies})
	f := apitest.NewFollower(t, s, auth.Keys{})
	f.API.TakeOver(core.Terms{Proxies: proxies})
	for _, at := range []*apitest.Site{s, f} {
		c := cookieOf(t, at.Do(http.MethodPost, "/session", withToken(apitest.Ann), https...))
		if c.Name != "__Host-berth-c" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("over TLS the cookie is %+v", c)
		}
		with := append([]string{"Cookie", c.Name + "=" + c.Value}, https...)
		at.Do(http.MethodGet, "/whoami", "", with...).Into(new(wire.Whoami))
		at.Do(http.MethodGet, "/whoami", "", with[:2]...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
		at.Do(http.MethodPost, "/queue/submit", `{"command":"x"}`, with...).Into(new(wire.Submitted))
		if out := cookieOf(t, at.Do(http.MethodDelete, "/session", "", with...)); out.Name != c.Name || !out.Secure || out.MaxAge >= 0 {
			t.Errorf("cleared is %+v", out)
		}
	}
}

// Without authentication there is nothing to sign in to.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, one := range [][3]string{{http.MethodPost, "/session", withToken(apitest.Ann)}, {http.MethodPost, "/session/codes", ""}, {http.MethodDelete, "/session", ""}} {
		if p := s.Do(one[0], one[1], one[2]).Problem(http.StatusConflict, model.CodeConflict.String()); !strings.Contains(p.Detail, "no sign-in is needed") {
			t.Errorf("%v: %s", one, p.Detail)
		}
	}
}

// A code signs in once, whichever of several peers it is shown to.
func TestACode(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	f := apitest.NewFollower(t, s, auth.Keys{})
	var code wire.Code
	for _, with := range [][]string{apitest.As(apitest.Ann), signIn(s, t, withToken(apitest.Ann))} {
		f.Do(http.MethodPost, "/session/codes", "", with...).Into(&code)
		if life := time.Duration(model.TimeOf(code.ExpiresAt) - model.TimeOf(s.Now())); life <= 0 || life > time.Minute {
			t.Errorf("the code is good for %s", life)
		}
		answers := make([]*apitest.Reply, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = []*apitest.Site{s, f}[i%2].Do(http.MethodPost, "/session", `{"code":"`+code.Code+`"}`)
			})
		}
		all.Wait()
		good := 0
		for _, a := range answers {
			if a.Status == http.StatusOK {
				good++
				continue
			}
			a.Problem(http.StatusForbidden, "denied")
		}
		if good != 1 {
			t.Errorf("a code has opened %d sessions", good)
		}
		s.Do(http.MethodGet, "/whoami", "", apitest.As(code.Code)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	s.Do(http.MethodPost, "/session/codes", "", apitest.As(apitest.Ann)...).Into(&code)
	s.With(func(c *statetest.Cluster) { c.Wait(time.Minute) })
	s.Do(http.MethodPost, "/session", `{"code":"`+code.Code+`"}`).Problem(http.StatusForbidden, "denied")
}
