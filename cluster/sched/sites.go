package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// sites remembers on which nodes of a state jobs may be that say where. Nil: on any.
type sites struct {
	where model.Where
	rule  *model.Sites
	state *state.State
	known map[model.NodeID]bool
}

// sitesOf is nil for jobs that do not say where.
func sitesOf(s *state.State, w model.Where) *sites {
	if w == (model.Where{}) {
		return nil
	}
	return &sites{where: w, rule: w.Sites(), state: s, known: map[model.NodeID]bool{}}
}

// has says that a node is one of them.
func (v *sites) has(id model.NodeID) bool {
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

// none says that no node of the cluster is one of them.
func (v *sites) none() bool {
	for id := range v.state.Nodes.All() {
		if v.has(id) {
			return false
		}
	}
	return true
}

// text is where in words, such as "with zone=a"; empty: anywhere.
func (v *sites) text() string {
	if v == nil {
		return ""
	}
	return v.where.String()
}

// wheres are the sites that a pass has met.
type wheres map[model.Where]*sites

func (m wheres) of(s *state.State, w model.Where) *sites {
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
