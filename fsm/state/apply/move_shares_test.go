package apply_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state"
)

// How a table grows that no user can fill.
const (
	byAdmins = "only admins and operators write it"
	byAgents = "it grows with the machines that admins let join"
	byLeader = "it grows with what runs on the GPUs that there are"
	byUse    = "a row for each user and project, or less"
	oneRow   = "it has one row"
)

// shares says of each table whether a user can fill it, by a filling, or why no user can.
func shares() map[string]string {
	return map[string]string{ //nolint:gosec // names of tables
		"Globals": oneRow, "Trusts": oneRow,
		"Peers": byAdmins, "Limits": byAdmins, "Weights": byAdmins,
		"Nodes": byAgents, "Leases": byAgents, "NodeUse": byAgents, "GPUs": byAgents, "Slots": byAgents, "Certificates": byAgents,
		"Attempts": byLeader, "Ranks": byLeader, "RankGPUs": byLeader, "Claims": byLeader, "Warned": byLeader, "Sketches": byLeader,
		"Usage": byUse, "Shares": byUse, "Accounts": byUse, "Members": byUse, "RequestUse": byUse, "Tallies": byUse,
		"Blobs": "texts of jobs", "Jobs": "waiting tasks", "Tasks": "waiting tasks", "Events": "waiting tasks", "Dependencies": "dependencies",
		"Allocations": "allocations", "Requests": "request ids", "Bookings": "reservations", "Tokens": "tokens of many users", "Sessions": "sessions of many users",
		"Users": "accounts of the provider", "Webhooks": "webhooks of many users", "Outlets": "deliveries", "Deliveries": "deliveries",
	}
}

// rowsOf returns how many rows each table has.
func rowsOf(s *state.State) map[string]int {
	out := map[string]int{}
	tables := reflect.ValueOf(&s.Tables).Elem()
	for i := range tables.NumField() {
		out[tables.Type().Field(i).Name] = int(tables.Field(i).MethodByName("Len").Call(nil)[0].Int())
	}
	return out
}

// checkShares compares which tables each filling has filled with what is said of the tables: each has a user's filling, or is filled by
// none.
func checkShares(t *testing.T, grown map[string]map[string]int) {
	t.Helper()
	said := shares()
	reasons := []string{byAdmins, byAgents, byLeader, byUse, oneRow}
	for _, table := range slices.Sorted(func(yield func(string) bool) {
		for name := range rowsOf(&state.State{}) {
			if !yield(name) {
				return
			}
		}
	}) {
		by, named := said[table]
		delete(said, table)
		if !named {
			t.Errorf("the table %s has no line in shares: say how a user fills it, with a filling after which an admin can still work, or why no user can", table)
			continue
		}
		if !slices.Contains(reasons, by) {
			if rows, known := grown[by]; !known || rows[table] < 10 {
				t.Errorf("the filling %q adds %d rows to the table %s: it fills something else", by, rows[table], table)
			}
			continue
		}
		for filling, rows := range grown {
			if rows[table] >= 10 {
				t.Errorf("a user fills the table %s with %d rows by %q, and shares says that %s", table, rows[table], filling, by)
			}
		}
	}
	for table := range said {
		t.Errorf("shares has a line for %s, which is no table", table)
	}
}

// many returns the n-th hash of some kind.
func many(kind byte, n int) model.Hash { return model.Hash{kind, byte(n >> 8), byte(n), 0xee} }

// crowd adds users, each with a token.
func crowd(l *life, n int) {
	users, tokens := l.State.Users.Fork(), l.State.Tokens.Fork()
	for i := range n {
		u := model.User{Name: fmt.Sprintf("eve%d", i), Role: model.RoleUser, Made: l.Now, By: "user:root", Subject: many(8, i)}
		users.Put(model.UserName(u.Name), u)
		v := model.Token{Hash: many(9, i), User: u.Name, Made: l.Now, By: "user:" + u.Name}
		tokens.Put(v.Hash, v)
	}
	l.State.Users, l.State.Tokens = users.Table(), tokens.Table()
}

// crowds are the fillings of many users together.
func crowds() map[string]filling {
	return map[string]filling{
		"tokens of many users": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			most := model.MaxTokens - model.MaxTokens/state.OperatorPart
			crowd(l, most/state.MaxTokensOf)
			tokens := l.State.Tokens.Fork()
			for i := range most - l.State.Tokens.Len() {
				v := model.Token{Hash: many(10, i), User: fmt.Sprintf("eve%d", i%(most/state.MaxTokensOf)), Made: l.Now}
				tokens.Put(v.Hash, v)
			}
			l.State.Tokens = tokens.Table()
			return fillUp(l, 1, func(int) command.Body {
				return &command.MakeToken{Hash: many(11, 0), User: "eve", Role: model.RoleUser, Capped: true}
			})
		}, model.CodeLimit, true},
		"sessions of many users": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			most := session.Max - session.Max/state.OperatorPart
			crowd(l, most/session.MaxOf)
			rows := l.State.Sessions.Fork()
			for i := range most {
				of := i % (most / session.MaxOf)
				v := session.Row{
					Hash: many(12, i), Parent: many(9, of), User: fmt.Sprintf("eve%d", of), Made: l.Now, Began: l.Now,
					Expires: l.Now.Add(session.Idle),
				}
				rows.Put(v.Hash, v)
			}
			l.State.Sessions = rows.Table()
			return fillUp(l, 1, func(int) command.Body { return &command.MakeSession{Hash: many(13, 0), From: hashOf(3)} })
		}, model.CodeLimit, true},
		"accounts of the provider": {func(_ *testing.T, l *life, _ model.JobID) command.Result {
			crowd(l, model.MaxUsers-model.MaxUsers/state.OperatorPart-l.State.Users.Len())
			return fillUp(l, 1, func(int) command.Body {
				return &command.SetUser{User: "mallory", Role: model.RoleUser, Subject: many(14, 0), Stated: l.Now}
			})
		}, model.CodeLimit, true},
		"webhooks of many users": {func(_ *testing.T, l *life, _ model.JobID) (last command.Result) {
			l.Unchecked = true
			for n := range outbox.MaxWebhooks {
				l.Actor = fmt.Sprintf("user:eve%d", n/state.MaxWebhooksOf)
				if last = l.Try(eves(n)); !last.OK() {
					break
				}
			}
			l.Unchecked = false
			return last
		}, model.CodeLimit, false},
	}
}

// eves returns a webhook for what user eve runs.
func eves(n int) *command.SetWebhook {
	return hook(outbox.WebhookID(fmt.Sprint("eve", n)), model.ScopeKey{Kind: model.ScopeUser, Name: "eve"})
}

// A user has so many tokens in all, whether or not they have expired: the user's own expired ones make room.
func TestExpiredTokensTakeNoRoom(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "root", Role: model.RoleAdmin, Spend: hashOf(1)})
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "eve", Role: model.RoleViewer, Expires: c.Now.Add(time.Minute)})
	c.Wait(2 * time.Minute)
	c.Actor, c.Unchecked = "user:eve", true
	for round := range 3 {
		for n := range state.MaxTokensOf {
			c.Do(&command.MakeToken{Hash: many(byte(20+round), n), User: "eve", Expires: c.Now.Add(time.Minute), Capped: true})
		}
		wantCode(t, c.Try(&command.MakeToken{Hash: many(30, round), User: "eve", Expires: c.Now.Add(time.Minute), Capped: true}), model.CodeLimit)
		if n := c.State.Tokens.Len(); n != state.MaxTokensOf+1 {
			t.Errorf("in round %d there are %d tokens", round, n)
		}
		c.Wait(2 * time.Minute)
	}
	c.Unchecked = false
}

// When all tokens together are too many, those go first that have expired and that users made for themselves.
func TestWhichTokensMakeRoom(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	l.Do(&command.FoundAuth{Token: hashOf(1)})
	l.Do(&command.MakeToken{Hash: hashOf(2), User: "root", Role: model.RoleAdmin, Spend: hashOf(1)})
	l.Do(&command.MakeToken{Hash: hashOf(3), User: "eve", Role: model.RoleUser})
	l.Wait(time.Hour)
	if r := crowds()["tokens of many users"].with(t, l, 0); r.Code != model.CodeLimit {
		t.Fatalf("the table takes another: %+v", r)
	}
	tokens := l.State.Tokens.Fork()
	for n, by := range []string{"user:root", "user:eve1", "user:eve1"} { // of these, the third has expired first
		v, _ := tokens.Get(many(10, 1+n*(model.MaxTokens-model.MaxTokens/state.OperatorPart)/state.MaxTokensOf))
		v.By, v.Expires = by, l.Now.Add(-time.Duration(n+1)*time.Minute)
		tokens.Put(v.Hash, v)
	}
	l.State.Tokens = tokens.Table()
	l.Actor, l.Unchecked = "user:eve", true
	for n, left := range []int{2, 1, 0} {
		l.Do(&command.MakeToken{Hash: many(11, n), User: "eve", Role: model.RoleUser, Capped: true})
		expired, self := 0, 0
		for _, v := range l.State.Tokens.All() {
			if !v.Good(l.Now) {
				expired++
				if v.By != "user:root" {
					self++
				}
			}
		}
		if expired != left || self != max(left-1, 0) {
			t.Errorf("after token %d, %d expired ones are left, %d of them made by their users", n, expired, self)
		}
	}
	wantCode(t, l.Try(&command.MakeToken{Hash: many(11, 9), User: "eve", Role: model.RoleUser, Capped: true}), model.CodeLimit)
}
