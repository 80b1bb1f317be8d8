package httpapi

import (
	"context"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// asUser is in whose name the caller asks for something: their own, unless they are an
// admin. Where nobody is asked who they are it is as they say.
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
		return "", denied("user must be " + c.Name + ", as your token says, or left out: to ask in another's name needs the role " +
			model.RoleAdmin.String() + "; you have " + c.Role.String())
	}
	return given, nil
}

// inProject says whether the caller may ask for something in a project: as a member of
// it, or as an operator.
func (g *gate) inProject(ctx context.Context, s *state.State, project string) error {
	c := auth.From(ctx)
	if project == "" || c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) || slices.Contains(g.projects(s, c), project) {
		return nil
	}
	return denied("you are not in this project: ask an admin for berth user set " + c.Name + " --join PROJECT")
}

// projects lists the projects that a caller is in.
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

// inClass says whether the caller may ask for a class.
func inClass(ctx context.Context, class model.Class) error {
	c := auth.From(ctx)
	if class < model.ClassCritical || c.Role.Covers(model.RoleOperator) {
		return nil
	}
	return denied("the priority critical needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// mostPriority is the highest priority of services that the caller may ask for.
func mostPriority(ctx context.Context) int64 {
	most := uint8(model.MaxPriority)
	for inClass(ctx, model.ServiceClass(most)) != nil {
		most--
	}
	return int64(most)
}

// mayAllocate says whether the caller may ask for GPUs without a job, and fills in
// whose they are.
func (a services) mayAllocate(ctx context.Context, s *state.State, user string, c *command.Allocate) (err error) {
	if c.User, err = asUser(ctx, user); err != nil {
		return err
	}
	if err = a.gate.inProject(ctx, s, c.Project); err != nil {
		return err
	}
	return inClass(ctx, c.Class)
}

// mayGiveUp says whether the caller may renew or release an allocation: their own, or
// as an operator any. One that this peer has not heard of may be one that was
// acknowledged by another: it looks again as far as anybody can.
func (a services) mayGiveUp(ctx context.Context, id model.AllocationID) error {
	c := auth.From(ctx)
	if c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) {
		return nil
	}
	s := a.peer.Reader.State()
	one, found := s.Allocations.Get(id)
	if !found {
		var err error
		if s, err = a.fresh(ctx, Linearizable); err != nil {
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

// forNode says whether the caller may speak for a node.
func forNode(ctx context.Context, node model.NodeID) error {
	if c := auth.From(ctx); c.Kind == auth.Node && c.Name != string(node) {
		return denied("this token speaks for the node " + c.Name + " only")
	}
	return nil
}
