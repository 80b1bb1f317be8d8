package e2e

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// count fails the test if anything that was acknowledged, and not given back, is not there
// any more, or if a kind of call never succeeded.
func (k *kept) count(t *testing.T, c *cluster) {
	t.Helper()
	v := &visit{kept: k}
	for _, one := range slices.Concat(v.looking(), v.changing(), v.holding(), v.telling(), v.naming()) {
		if k.calls[one.name] == 0 {
			t.Errorf("no caller was answered %q", one.name)
		}
	}
	c.until("all peers have what was acknowledged", func() bool { return together(c) })
	k.allocations(t, c)
	list, err := c.api.Operator().Webhooks().List(c.context())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for i := range list.Webhooks {
		there[list.Webhooks[i].ID] = true
	}
	hooks := k.list("webhook")
	for id := range hooks { // order-free: each is checked
		if !there[id] {
			t.Errorf("webhook %s was acknowledged and is not listed", id)
		}
	}
	c.until("every trial of a webhook has arrived", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, event := range hooks { // order-free: each is checked
			if event != "" && !k.told[event] {
				return false
			}
		}
		return true
	})
	t.Logf("kept are %d allocations, %d for jobs, %d webhooks (%d trials arrived), %d tokens",
		len(k.of["allocation"]), len(k.of["for job"]), len(hooks), len(k.told), len(k.of["token"]))
	k.tokens(t, c)
}

// together says that every peer has all that the leader had at the start of the call: one
// that has just come back answers from an older state.
func together(c *cluster) bool {
	before, err := c.api.Peers(c.context())
	if err != nil {
		return false
	}
	newest := uint64(0)
	for i := range before.Peers {
		newest = max(newest, before.Peers[i].AppliedIndex)
	}
	after, err := c.api.Peers(c.context())
	return err == nil && !slices.ContainsFunc(after.Peers, func(p wire.Peer) bool { return p.AppliedIndex < newest })
}

// allocations looks for what is held or waited for.
func (k *kept) allocations(t *testing.T, c *cluster) {
	t.Helper()
	services, after := client.ServicesOf(c.api), ""
	ids, jobs := map[string]bool{}, map[string]bool{}
	for {
		page, err := services.Allocations(c.context(), client.AllocationsQuery{After: after, Status: "queued"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Allocations {
			ids[page.Allocations[i].ID], jobs[page.Allocations[i].JobID] = true, true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for id := range k.list("allocation") { // order-free: each is checked
		if !ids[id] {
			t.Errorf("allocation %s was acknowledged and does not wait", id)
		}
	}
	for job := range k.list("for job") { // order-free: each is checked
		if !jobs[job] {
			t.Errorf("the allocation for %s was acknowledged and does not wait", job)
		}
	}
}

// tokens shows every token to a cluster that asks for them from now on. That one has no
// first token left for berth dev, which so never finds it ready.
func (k *kept) tokens(t *testing.T, c *cluster) {
	t.Helper()
	c.down()
	t.Setenv("BERTH_AUTH_ENABLED", "true")
	launch(c)
	as := func(secret string) error {
		api, err := client.New(client.Options{Addresses: c.addresses(), Token: secret})
		if err != nil {
			return err
		}
		defer api.Close()
		_, err = api.Queue(c.context(), client.QueueQuery{Limit: 1})
		return err
	}
	var p *wire.Problem
	c.until("callers are asked", func() bool { return errors.As(as("berth_nobodys"), &p) && p.Status == http.StatusUnauthorized })
	for id, secret := range k.list("token") { // order-free: each is checked
		var err error
		if c.until("the queue is told", func() bool {
			err = as(secret)
			return err == nil || errors.As(err, &p) && p.Status != http.StatusServiceUnavailable
		}); err != nil {
			t.Errorf("token %s was acknowledged and is of no use: %v", id, err)
		}
	}
}
