package core

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
)

// Each bound of requests that are answered at once, filled by users: operators and agents
// find room, and all comes back.
func TestBoundsOfOpenRequests(t *testing.T) {
	t.Parallel()
	user := func(name string) *auth.Caller { return &auth.Caller{Name: name, Kind: auth.User, Role: model.RoleUser} }
	operator := &auth.Caller{Name: "otto", Kind: auth.User, Role: model.RoleOperator}
	node := &auth.Caller{Name: "n1", Kind: auth.Node, Role: model.RoleAgent}
	for name, c := range map[string]struct {
		each, from, all int
		next            *auth.Caller // a caller beyond the limit
		address         string
	}{
		"of one user":    {2, 9, 9, user("ann"), "b"},
		"of one address": {9, 2, 9, user("bob"), "a"},
		"in all":         {9, 9, 2, user("bob"), "b"},
	} {
		o := newOpenRequests()
		o.Each, o.from, o.all, o.agent = c.each, c.from, c.all, 1
		var ends []func()
		begin := func(who *auth.Caller, address string) *problem.Failure {
			done, f := o.begin(who, address)
			if f == nil {
				ends = append(ends, done)
			}
			return f
		}
		for range 2 {
			if f := begin(user("ann"), "a"); f != nil {
				t.Errorf("%s: %v", name, f)
			}
		}
		if begin(c.next, c.address) == nil {
			t.Errorf("%s: there is no bound", name)
		}
		for _, who := range []*auth.Caller{operator, node, {Kind: auth.Open}} {
			if f := begin(who, "a"); f != nil {
				t.Errorf("%s: %s finds no room: %v", name, who.Actor(), f)
			}
		}
		if begin(node, "c") == nil {
			t.Errorf("%s: an agent has no bound", name)
		}
		for _, end := range ends {
			end()
		}
		if len(o.ofEach) != 0 || len(o.ofFrom) != 0 || o.users != 0 {
			t.Errorf("%s: %v, %v, %d are left", name, o.ofEach, o.ofFrom, o.users)
		}
	}
}
