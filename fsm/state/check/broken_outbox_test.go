package check_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Check names what is wrong with the outbox.
func TestCheckNamesABrokenOutbox(t *testing.T) {
	key := func(s *state.State) outbox.Key {
		for k := range s.Deliveries.All() {
			return k
		}
		return outbox.Key{}
	}
	all := outbox.WebhookID("all")
	for name, v := range map[string]struct {
		want   check.Invariant
		change func(*state.State)
	}{
		"a count":    {check.TotalsAgree, func(s *state.State) { statetest.Put(&s.Outlets, all.Outlet(), func(r *outbox.Outlet) { r.Pending++ }) }},
		"no outlet":  {check.References, func(s *state.State) { statetest.Drop(&s.Outlets, all.Outlet()) }},
		"no webhook": {check.References, func(s *state.State) { statetest.Drop(&s.Webhooks, all) }},
		"a webhook":  {check.References, func(s *state.State) { statetest.Put(&s.Webhooks, all, func(r *outbox.Webhook) { r.URL = "ftp://x" }) }},
		"a notice": {check.References, func(s *state.State) {
			statetest.Put(&s.Deliveries, key(s), func(r *outbox.Delivery) { r.Notice.Ordinal++ })
		}},
		"a notice to come": {check.References, func(s *state.State) {
			k := key(s)
			k.Index = s.Index + 1
			statetest.Put(&s.Deliveries, k, func(r *outbox.Delivery) {
				*r = outbox.Delivery{Key: k, Notice: model.Notice{Index: k.Index, Ordinal: k.Ordinal}, State: outbox.Dead}
			})
		}},
		"an address without use": {check.References, func(s *state.State) {
			statetest.Put(&s.Outlets, "job:1", func(r *outbox.Outlet) { *r = outbox.Outlet{ID: "job:1", URL: "https://example.com"} })
		}},
		"a warning": {check.References, func(s *state.State) {
			k := model.AttemptKey{Job: 1, N: 1}
			statetest.Put(&s.Warned, k, func(r *outbox.Warned) { r.Attempt = k })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := statetest.New(t)
			c.Do(&command.SetWebhook{Webhook: outbox.Webhook{
				ID: all, Scope: model.ScopeKey{Kind: model.ScopeCluster}, URL: "https://example.com/all", Events: model.AllNotices(), Secret: model.NewHookSecret([32]byte{1}),
			}})
			c.Submit(1)
			s := c.State
			v.change(&s)
			s, err := statetest.Reseal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := check.State(&s); !statetest.Names(err, v.want) || statetest.Names(err, check.SameOnReplay) {
				t.Errorf("Check says %v, want %q", err, v.want)
			}
		})
	}
}
