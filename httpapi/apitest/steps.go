package apitest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Step is a request as the owner's documents show it, and what of its answer they
// read: paths of fields, such as "job.id" or "queued.0.id", and the values that they
// must have; a nil value: the field must be there.
type Step struct {
	Method, Path, Body string
	Want               map[string]any
}

// WalkThrough sends the requests one after the other.
func WalkThrough(t *testing.T, s *Site, steps []Step) {
	t.Helper()
	for _, v := range steps {
		r := s.Do(v.Method, v.Path, v.Body, "Content-Type", "application/json")
		if r.Status != http.StatusOK {
			t.Errorf("%s %s: %d %s", v.Method, v.Path, r.Status, r.Body)
			continue
		}
		var got any
		if err := json.Unmarshal(r.Body, &got); err != nil {
			t.Fatal(err)
		}
		for path, want := range v.Want {
			at, found := fieldAt(got, path)
			if !found || want != nil && at != want {
				t.Errorf("%s %s: %s is %v (there: %t), want %v, in %s", v.Method, v.Path, path, at, found, want, r.Body)
			}
		}
	}
}

// fieldAt finds a field by its path.
func fieldAt(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, found := at[name]
			if !found {
				return nil, false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(at) {
				return nil, false
			}
			v = at[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// Fields makes each path one that must be there.
func Fields(paths ...string) map[string]any {
	out := map[string]any{}
	for _, p := range paths {
		out[p] = nil
	}
	return out
}

// TwoNodes is the cluster of the documents: two nodes of eight GPUs, simulated.
func TwoNodes(t *testing.T) *Site {
	t.Helper()
	s := New(t)
	s.With(func(c *statetest.Cluster) {
		for _, id := range []model.NodeID{"gmi-node-1", "gmi-node-2"} {
			c.Node(id, 8).Reboot(func(b *command.Register) { b.Features = "none, simulated GPUs" })
		}
	})
	return s
}

// Grant gives a waiting allocation GPUs of a node, as the scheduler does.
func Grant(s *Site, id model.AllocationID, node model.NodeID) {
	s.T.Helper()
	s.With(func(c *statetest.Cluster) {
		a, _ := c.State.Allocations.Get(id)
		n, _ := c.State.Nodes.Get(node)
		p := command.Placement{Node: node, Epoch: n.Epoch}
		for k := range c.State.NodeGPUs.From(model.AddressKey{Node: node}) {
			slot, _ := c.State.Slots.Get(model.SlotKey{GPU: k.GPU})
			if k.Node == node && slot.Owner == model.OwnerNone && len(p.Slots) < int(a.GPUs) {
				p.Slots = append(p.Slots, slot.Key)
			}
		}
		c.Do(&command.Grant{ID: id, Decided: c.State.Index, Placement: p})
	})
}
