package httpapi

import (
	"context"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// asUser returns the user in whose name the caller makes a request: the caller, unless that is an
// admin. Without authentication it is the given name.
func asUser(ctx context.Context, given string) (string, error) {
	c := auth.From(ctx)
	switch {
	case c.Kind == auth.Open && given == "":
		return defaultUser, nil
	case c.Kind == auth.Open:
		return given, nil
	case given == "" || given == c.Name:
		return c.Name, nil
	case !c.Role.Covers(model.RoleAdmin):
		return "", denied("user must be " + c.Name + ", the user of your token, or be left out: requests in another's name need the role " +
			model.RoleAdmin.String() + "; you have " + c.Role.String())
	}
	return given, nil
}

// inProject returns an error if the caller may not use a project: it must be a member of it, or an
// operator.
func (g *gate) inProject(ctx context.Context, s *state.State, project string) error {
	c := auth.From(ctx)
	if project == "" || c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) || slices.Contains(g.projects(s, c), project) {
		return nil
	}
	return denied("you are not in this project: ask an admin for berth user set " + c.Name + " --join PROJECT")
}

// projects returns the projects of a caller.
func (g *gate) projects(s *state.State, c *auth.Caller) (out []string) {
	key, _ := g.terms().Keys.Find(c.Credential)
	out = append(out, key.Projects...)
	for k := range s.Members.From(model.MemberKey{User: c.Name}) {
		if k.User != c.Name {
			break
		}
		out = append(out, k.Project)
	}
	return out
}

// inClass returns an error if the caller may not use a class.
func inClass(ctx context.Context, class model.Class) error {
	c := auth.From(ctx)
	if class < model.ClassCritical || c.Role.Covers(model.RoleOperator) {
		return nil
	}
	return denied("the priority critical needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// mostPriority returns the highest priority of services that the caller may ask for.
func mostPriority(ctx context.Context) int64 {
	most := uint8(model.MaxPriority)
	for inClass(ctx, model.ServiceClass(most)) != nil {
		most--
	}
	return int64(most)
}

// mayAllocate returns an error if the caller may not ask for GPUs without a job, and fills in the
// user.
func (a services) mayAllocate(ctx context.Context, s *state.State, user string, c *command.Allocate) (err error) {
	if c.User, err = asUser(ctx, user); err != nil {
		return err
	}
	if err = a.api.gate.inProject(ctx, s, c.Project); err != nil {
		return err
	}
	return inClass(ctx, c.Class)
}

// mayGiveUp returns an error if the caller may not renew or release an allocation: their own, or as
// an operator any. An allocation that this peer does not know may have been acknowledged by another
// peer: it is looked up again in the newest state that can be read.
func (a services) mayGiveUp(ctx context.Context, id model.AllocationID) error {
	c := auth.From(ctx)
	if c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) {
		return nil
	}
	s := a.api.peer.Reader.State()
	one, found := s.Allocations.Get(id)
	if !found {
		var err error
		if s, err = a.api.fresh(ctx, Linearizable); err != nil {
			return err
		}
		one, found = s.Allocations.Get(id)
	}
	switch {
	case !found:
		return noAllocation()
	case c.Owns(one.User, one.Asked):
		return nil
	}
	return denied("allocation " + string(id) + " is another user's: this needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// forNode returns an error if the caller is not the agent of a node.
func forNode(ctx context.Context, node model.NodeID) error {
	if c := auth.From(ctx); c.Kind == auth.Node && c.Name != string(node) {
		return denied("this token is good for the node " + c.Name + " only")
	}
	return nil
}
