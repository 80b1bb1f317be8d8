package place

import (
	"iter"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Sites are the nodes of a state on which jobs with certain demands may be, as far as they were looked up. Nil:
// any node.
type Sites struct {
	where model.Where
	rule  *model.Sites
	state *state.State
	known map[model.NodeID]bool
	shut  *shut // see NotOpen; nil: not looked up
}

// shut are, in words, nodes that would be among sites if they ran jobs of all users.
type shut struct{ private, lacking string }

// sitesOf returns nil for jobs that may be on any node.
func sitesOf(s *state.State, w model.Where) *Sites {
	if w == (model.Where{}) {
		return nil
	}
	return &Sites{where: w, rule: w.Sites(), state: s, known: map[model.NodeID]bool{}}
}

// WhereOf returns on which nodes a job or a service may be. A service runs under no account of a node.
func WhereOf(s *state.State, spec *model.Spec, service bool) model.Where {
	w := spec.Where()
	if !service {
		w.User = s.Whose(spec.User)
	}
	return w
}

// ShapeOf returns the shape of a run, with what nodes ask of its user.
func ShapeOf(s *state.State, run *state.Run) model.Shape {
	shape := run.Shape
	if !run.Service {
		shape.Where.User = s.Whose(run.User)
	}
	return shape
}

// ofAnyUser returns the nodes as if all ran jobs of all users, and reports whether that makes a
// difference.
func (v *Sites) ofAnyUser() (all *Sites, differs bool) {
	if v == nil || v.where.User == "" {
		return v, false
	}
	w := v.where
	w.User = ""
	return sitesOf(v.state, w), true
}

// anyNode returns all nodes that run jobs of the user, and reports whether the job says where.
func (v *Sites) anyNode() (all *Sites, differs bool) {
	if v == nil {
		return nil, false
	}
	w := model.Where{User: v.where.User}
	return sitesOf(v.state, w), w != v.where
}

// NotOpen returns, in words, the nodes that would be among the sites if they ran jobs of all users: those that run jobs of
// another user only, and those that have no account for the user.
func (v *Sites) NotOpen() (private, lacking string) {
	all, differs := v.ofAnyUser()
	if !differs {
		return "", ""
	}
	if v.shut == nil {
		user := v.where.User
		v.shut = &shut{
			private: v.shutOf(all, v.state.Private.All(), func(state.PrivateKey) bool { return true }),
			lacking: v.shutOf(all, v.state.Lacking.From(state.PrivateKey{User: user}), func(k state.PrivateKey) bool { return k.User == user }),
		}
	}
	return v.shut.private, v.shut.lacking
}

// shutOf returns, in words, the first nodes of an index, up to one that does not count, that are among all sites but not among v.
func (v *Sites) shutOf(all *Sites, nodes iter.Seq2[state.PrivateKey, state.None], counts func(state.PrivateKey) bool) string {
	var out []string
	for k := range nodes {
		if !counts(k) {
			break
		}
		if all.Has(k.Node) && !v.Has(k.Node) {
			out = append(out, string(k.Node))
		}
	}
	slices.Sort(out)
	return some(out)
}

// Soon returns the sites as if no node lacked an account for the user: one may be there at any time, as after a look-up that
// has failed.
func (v *Sites) Soon() *Sites {
	if others, lacking := v.NotOpen(); others != "" || lacking == "" {
		return v
	}
	all, _ := v.ofAnyUser()
	return all
}

// some lists some names; "" for none.
func some(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return blocker.ListSome(names)
}

// Has reports whether a node is one of the sites.
func (v *Sites) Has(id model.NodeID) bool {
	if v == nil {
		return true
	}
	is, known := v.known[id]
	if !known {
		node, found := v.state.Nodes.Get(id)
		is = found && v.rule.Has(&node)
		v.known[id] = is
	}
	return is
}

// none reports whether no node of the cluster is one of the sites.
func (v *Sites) none() bool {
	for id := range v.state.Nodes.All() {
		if v.Has(id) {
			return false
		}
	}
	return true
}

// text returns in words where the sites are, such as "with zone=a"; empty: anywhere.
func (v *Sites) text() string {
	if v == nil {
		return ""
	}
	return v.where.String()
}

// SitesCache are the sites that a pass has looked up.
type SitesCache map[model.Where]*Sites

// Of returns the sites of a Where; nil: all nodes.
func (m SitesCache) Of(s *state.State, w model.Where) *Sites {
	if w == (model.Where{}) {
		return nil
	}
	v := m[w]
	if v == nil {
		v = sitesOf(s, w)
		m[w] = v
	}
	return v
}
