package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func hashOf(n byte) model.Hash { return model.Hash{n, 1} }

// guarded returns a cluster that authenticates callers, with the first token hashOf(1).
func guarded(t *testing.T) *statetest.Cluster {
	c := statetest.New(t)
	c.Do(&command.FoundAuth{Token: hashOf(1)})
	return c
}

// The first token is valid once, whichever of two callers comes first.
func TestTheFirstTokenIsSpent(t *testing.T) {
	c := guarded(t)
	wantCode(t, c.Try(&command.FoundAuth{Token: hashOf(2)}), model.CodeConflict)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)})
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(4), User: "eve", Role: model.RoleAdmin, Spend: hashOf(1)}), model.CodeDenied)
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(4), User: "eve", Role: model.RoleAdmin, Spend: hashOf(3)}), model.CodeDenied)
	if c.State.Tokens.Len() != 1 || c.State.Users.Len() != 1 {
		t.Errorf("%d tokens, %d users", c.State.Tokens.Len(), c.State.Users.Len())
	}
}

// A token that cannot be made does not cost the first one.
func TestTheFirstTokenOutlivesARefusal(t *testing.T) {
	c := guarded(t)
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(3), User: "ann", Spend: hashOf(1)}), model.CodeNotFound)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)})
}

// No caller can lock all users out, not even an admin that intends to.
func TestAnAdminIsLeft(t *testing.T) {
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)})
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleUser})
	c.Do(&command.SetUser{User: "bob", Role: model.RoleAdmin}) // without a token
	last := []command.Body{
		&command.DropTokens{Tokens: []model.Hash{hashOf(3), hashOf(2)}},
		&command.SetUser{User: "ann", Role: model.RoleOperator},
		&command.RemoveUser{User: "ann"},
	}
	for _, b := range last {
		wantCode(t, c.Try(b), model.CodeConflict)
	}
	c.Do(&command.SetUser{User: "ann", Role: model.RoleAdmin, Join: []string{"vision"}})
	c.Do(&command.MakeToken{Hash: hashOf(4), User: "bob", Expires: c.Now.Add(time.Hour)})
	c.Do(&command.SetUser{User: "ann", Role: model.RoleOperator})
	wantCode(t, c.Try(&command.RemoveUser{User: "bob"}), model.CodeConflict)
	c.Wait(2 * time.Hour)
	c.Do(&command.RemoveUser{User: "bob"}) // without bob there is no admin any more
}

// A token is listed for a while after its end, and forgotten when another is made.
func TestOldTokensAreForgotten(t *testing.T) {
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleUser, Expires: c.Now.Add(time.Hour)})
	c.Wait(model.KeepExpired)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann"})
	if !c.State.Tokens.Has(hashOf(2)) {
		t.Error("it was forgotten early")
	}
	c.Wait(2 * time.Hour)
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(3), User: "ann"}), model.CodeConflict)
	c.Do(&command.MakeToken{Hash: hashOf(4), User: "ann"})
	if c.State.Tokens.Has(hashOf(2)) || c.State.Tokens.Len() != 2 { // nor is the first there
		t.Errorf("%d tokens are there", c.State.Tokens.Len())
	}
}

func TestTokensAndUsers(t *testing.T) {
	c := guarded(t)
	wantCode(t, c.Try(&command.SetUser{User: "ann"}), model.CodeNotFound)
	c.Do(&command.SetUser{User: "ann", Role: model.RoleUser, Join: []string{"vision", "text"}})
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleOperator}), model.CodeConflict)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Expires: c.Now.Add(time.Hour)})
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleViewer})
	c.Do(&command.MakeToken{Hash: hashOf(4), User: "ann", Role: model.RoleAgent, Expires: c.Now.Add(time.Hour)}) // of a node of that name
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(2), User: "bob", Role: model.RoleUser}), model.CodeConflict)
	c.Do(&command.SetUser{User: "ann", Leave: []string{"text", "speech"}})
	if u, _ := c.State.Users.Get("ann"); u.Role != model.RoleUser || c.State.Members.Len() != 1 {
		t.Errorf("ann is %+v in %d projects", u, c.State.Members.Len())
	}
	wantCode(t, c.Try(&command.DropTokens{Tokens: []model.Hash{hashOf(9)}}), model.CodeNotFound)
	wantCode(t, c.Try(&command.RemoveUser{User: "bob"}), model.CodeNotFound)
	c.Do(&command.RemoveUser{User: "ann"})
	left := []model.Hash{}
	for hash := range c.State.Tokens.All() {
		left = append(left, hash)
	}
	if len(left) != 2 || left[0] != hashOf(1) || left[1] != hashOf(4) || c.State.Members.Len() != 0 {
		t.Errorf("left are tokens %v and %d places in projects", left, c.State.Members.Len())
	}
	c.Do(&command.DropTokens{Tokens: []model.Hash{hashOf(4), hashOf(9)}})
}

// A user that is created again under a removed user's name is not answered with what the former one
// did under the same request id.
func TestRequestIDsEndWithTheirUser(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	submit := func() (model.JobID, bool) {
		t.Helper()
		b := c.Command(statetest.Job(1))
		b.Actor, b.RequestID = "user:ann", "nightly"
		r := c.Entry(b)[0]
		if !r.OK() {
			t.Fatalf("refused: %s: %s", r.Code, r.Detail)
		}
		_, known := c.State.Request("user:ann", "nightly")
		return r.Job, known
	}
	c.Do(&command.SetUser{User: "ann", Role: model.RoleUser})
	first, known := submit()
	if again, _ := submit(); again != first || !known {
		t.Fatalf("sent twice, the request is answered with jobs %s and %s", first, again)
	}
	c.Do(&command.RemoveUser{User: "ann"})
	if _, known := c.State.Request("user:ann", "nightly"); known || c.State.Settings().Requests.Untimed != 0 {
		t.Errorf("after the removal the id is known: %v; %d ids are counted", known, c.State.Settings().Requests.Untimed)
	}
	c.Do(&command.SetUser{User: "ann", Role: model.RoleUser})
	if second, _ := submit(); second == first {
		t.Errorf("the new user is answered with job %s of the former one", second)
	}
}

// The first token is good for an hour, and only while no admin has another. It can be
// replaced once it has expired, as long as no other credential can make a token.
func TestTheFirstTokenExpires(t *testing.T) {
	t.Parallel()
	again := &command.FoundAuth{Token: hashOf(2)}
	c := guarded(t)
	wantCode(t, c.Try(again), model.CodeConflict)
	c.Wait(time.Hour)
	wantCode(t, c.Try(&command.MakeToken{Hash: hashOf(3), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)}), model.CodeDenied)
	wantCode(t, c.Try(&command.FoundAuth{}), model.CodeConflict)
	c.Do(again)
	if c.State.Tokens.Len() != 1 || !c.State.Tokens.Has(hashOf(2)) {
		t.Errorf("%d tokens", c.State.Tokens.Len())
	}
	c.Do(&command.SetUser{User: "ann", Role: model.RoleUser})
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "ann"})
	if !c.State.Tokens.Has(hashOf(2)) {
		t.Error("a user's token has spent it")
	}
	c.Do(&command.SetUser{User: "ann", Role: model.RoleAdmin})
	if c.State.Tokens.Has(hashOf(2)) {
		t.Error("the first token exists together with an admin's token")
	}
	wantCode(t, c.Try(&command.FoundAuth{Token: hashOf(4)}), model.CodeConflict)
}

// A cluster whose admins have keys needs no first token.
func TestAuthWithoutAFirstToken(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Do(&command.FoundAuth{})
	if !c.State.Settings().Auth.On() || c.State.Tokens.Len() != 0 {
		t.Errorf("%d tokens are there", c.State.Tokens.Len())
	}
}

// What acts in a user's name by itself goes with the user: another user of the name would
// own it, or it would own what is theirs.
func TestARemovedUserLeavesNoWebhooksAndReservations(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.Node("n1", 8)
	for i, user := range []string{"ann", "bob"} {
		scope := model.ScopeKey{Kind: model.ScopeUser, Name: user}
		c.Do(&command.SetUser{User: user, Role: model.RoleUser})
		c.Do(hook(outbox.WebhookID(user), scope, model.NoticeJobQueued))
		c.Do(&command.Book{Booking: model.Booking{
			Kind: model.BookGPUs, Owner: scope, GPUs: 1, Nodes: "n1", Start: c.Now.Add(time.Duration(i+1) * 2 * time.Hour),
			End: c.Now.Add(time.Duration(i+1)*2*time.Hour + time.Hour),
		}})
		c.Submit(1, func(b *command.Submit) { b.Spec.User = user })
	}
	deliveries := c.State.Deliveries.Len()
	c.Do(&command.RemoveUser{User: "ann"})
	if c.State.Webhooks.Has("ann") || !c.State.Webhooks.Has("bob") || c.State.Bookings.Len() != 1 || c.State.Jobs.Len() != 2 ||
		deliveries != 2 || c.State.Deliveries.Len() != 1 {
		t.Errorf("left are %d webhooks, %d reservations, %d jobs, %d of %d deliveries", c.State.Webhooks.Len(), c.State.Bookings.Len(), c.State.Jobs.Len(),
			c.State.Deliveries.Len(), deliveries)
	}
}

func TestAUserIsInSoManyProjects(t *testing.T) {
	c := guarded(t)
	b := &command.SetUser{User: "ann", Role: model.RoleUser}
	for i := range model.MaxProjects {
		b.Join = append(b.Join, strings.Repeat("p", 1+i%100)+string(rune('a'+i/100)))
	}
	c.Do(b)
	wantCode(t, c.Try(&command.SetUser{User: "ann", Join: []string{"another"}}), model.CodeLimit)
	c.Do(&command.SetUser{User: "ann", Join: []string{"another"}, Leave: []string{"pa"}})
}

func TestWhatTokensAllow(t *testing.T) {
	for _, v := range []struct{ token, user, want model.Role }{
		{model.RoleNone, model.RoleOperator, model.RoleOperator},
		{model.RoleViewer, model.RoleOperator, model.RoleViewer},
		{model.RoleAdmin, model.RoleUser, model.RoleUser}, // a former admin
		{model.RoleAgent, model.RoleNone, model.RoleAgent},
	} {
		if got := (&model.Token{Role: v.token}).Allows(v.user); got != v.want {
			t.Errorf("a token for %s of a user with role %s allows %s, want %s", v.token, v.user, got, v.want)
		}
	}
}

// Check names what is wrong about users and tokens.
func TestCheckNamesBrokenPeople(t *testing.T) {
	for name, change := range map[string]func(*state.State){
		"a secret without a beginning": func(s *state.State) {
			statetest.Put(&s.Globals, state.Only{}, func(r *model.Settings) { r.Auth.Since = 0 })
		},
		"a token of no user":   func(s *state.State) { statetest.Put(&s.Tokens, hashOf(2), func(r *model.Token) { r.User = "eve" }) },
		"a token of no role":   func(s *state.State) { statetest.Put(&s.Tokens, hashOf(2), func(r *model.Token) { r.Role = 9 }) },
		"two first tokens":     func(s *state.State) { statetest.Put(&s.Tokens, hashOf(2), func(r *model.Token) { r.First = true }) },
		"a user of no role":    func(s *state.State) { statetest.Put(&s.Users, "ann", func(r *model.User) { r.Role = model.RoleAgent }) },
		"a user under another": func(s *state.State) { statetest.Put(&s.Users, "ann", func(r *model.User) { r.Name = "bob" }) },
		"a member but no user": func(s *state.State) {
			statetest.Put(&s.Members, model.MemberKey{User: "ann", Project: "vision"}, func(r *model.Member) { r.Key.User = "eve" })
		},
		"a place of no user": func(s *state.State) {
			d := s.Members.Fork()
			d.Put(model.MemberKey{User: "eve", Project: "vision"}, model.Member{Key: model.MemberKey{User: "eve", Project: "vision"}})
			s.Members = d.Table()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := guarded(t)
			c.Do(&command.SetUser{User: "ann", Role: model.RoleUser, Join: []string{"vision"}})
			c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann"})
			s := c.State
			change(&s)
			if err := check.State(&s); !statetest.Names(err, check.References) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}
