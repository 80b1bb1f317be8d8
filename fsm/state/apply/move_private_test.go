package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A node whose agent runs jobs of one user only is given no others. What runs there stays, and
// services, of which nothing runs on the node, are granted GPUs there.
func TestANodeOfOneUser(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 4)
	of := func(user string) func(*command.Submit) { return func(b *command.Submit) { b.Spec.User = user } }
	running := c.Place(c.Submit(1, of("eve")))
	c.Start(running)
	other, own := c.Submit(1, of("eve")), c.Submit(1, of("ada"))
	late := *c.Placement(model.TaskKey{Job: other})
	if got := c.State.Whose("eve"); got != "" {
		t.Errorf("on a cluster of shared nodes users are told apart: %q", got)
	}
	n.Register(func(b *command.Register) { b.Accounts, b.Account = model.AccountsOwn, "ada" })
	for user, want := range map[string]string{"ada": "ada", "eve": model.Stranger, "bob": model.Stranger} {
		if got := c.State.Whose(user); got != want {
			t.Errorf("%s is %q, want %q", user, got, want)
		}
	}
	late.Ranks[0].Epoch = n.Epoch()
	wantCode(t, c.Try(&late), model.CodeUnavailable)
	if a, _ := c.State.Attempts.Get(running); a.Stop != model.ReasonNone || !a.Live() {
		t.Errorf("what ran before is %+v", a)
	}
	c.Start(c.Place(own))
	n.Register(func(b *command.Register) { b.Accounts, b.Account = model.AccountsShared, "ada" })
	if got := c.State.Whose("eve"); got != "" {
		t.Errorf("the node is shared again, and users are told apart: %q", got)
	}
	c.Start(c.Place(other))
	if err := check.State(&c.State); err != nil {
		t.Error(err)
	}
}
