package intake

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
)

// entitled returns the user of a request for GPUs, or an error if the caller may not make it. The user is the caller, unless that is an
// admin. Without authentication it is the given name.
func (b *Basis) entitled(given, project string, class model.Class) (user string, err error) {
	c := b.Caller
	switch {
	case c.Kind == auth.Open:
		user = cmp.Or(given, defaultUser)
	case given != "" && given != c.Name && !c.Role.Covers(model.RoleAdmin):
		return "", problem.Denied("user must be " + c.Name + ", the user of your token, or be left out: requests in another's name need the role " +
			model.RoleAdmin.String() + "; you have " + c.Role.String())
	default:
		user = cmp.Or(given, c.Name)
	}
	if err := b.InProject(project); err != nil {
		return "", err
	}
	return user, InClass(c, class)
}

// InProject returns an error if the caller may not use a project: it must be a member of it, or an
// operator.
func (b *Basis) InProject(project string) error {
	if project == "" || b.Caller.Operates() || slices.Contains(b.Projects(), project) {
		return nil
	}
	return problem.Denied("you are not in this project: ask an admin for berth user set " + b.Caller.Name + " --join PROJECT")
}

// InClass returns an error if a caller may not use a class.
func InClass(c *auth.Caller, class model.Class) error {
	if class < model.ClassCritical || c.Operates() {
		return nil
	}
	return problem.Denied("the priority critical needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// MostPriority returns the highest priority that a caller may ask for, of jobs or of services, whose classes are given.
func MostPriority(c *auth.Caller, classOf func(priority uint8) model.Class) int64 {
	most := uint8(model.MaxPriority)
	for most > 1 && InClass(c, classOf(most)) != nil {
		most--
	}
	return int64(most)
}
