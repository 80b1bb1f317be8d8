package core

import (
	"context"
	"slices"

	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// AsUser returns the user in whose name the caller makes a request: the caller, unless that is an
// admin. Without authentication it is the given name.
func AsUser(ctx context.Context, given string) (string, error) {
	c := auth.From(ctx)
	switch {
	case c.Kind == auth.Open && given == "":
		return intake.DefaultUser, nil
	case c.Kind == auth.Open:
		return given, nil
	case given == "" || given == c.Name:
		return c.Name, nil
	case !c.Role.Covers(model.RoleAdmin):
		return "", Denied("user must be " + c.Name + ", the user of your token, or be left out: requests in another's name need the role " +
			model.RoleAdmin.String() + "; you have " + c.Role.String())
	}
	return given, nil
}

// InProject returns an error if the caller may not use a project: it must be a member of it, or an
// operator.
func (g *gate) InProject(ctx context.Context, s *state.State, project string) error {
	c := auth.From(ctx)
	if project == "" || c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) || slices.Contains(g.Projects(s, c), project) {
		return nil
	}
	return Denied("you are not in this project: ask an admin for berth user set " + c.Name + " --join PROJECT")
}

// Projects returns the projects of a caller.
func (g *gate) Projects(s *state.State, c *auth.Caller) (out []string) {
	key, _ := g.Terms().Keys.Find(c.Credential)
	out = append(out, key.Projects...)
	for k := range s.Members.From(model.MemberKey{User: c.Name}) {
		if k.User != c.Name {
			break
		}
		out = append(out, k.Project)
	}
	return out
}

// InClass returns an error if the caller may not use a class.
func InClass(ctx context.Context, class model.Class) error {
	c := auth.From(ctx)
	if class < model.ClassCritical || c.Role.Covers(model.RoleOperator) {
		return nil
	}
	return Denied("the priority critical needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}

// MostPriority returns the highest priority of services that the caller may ask for.
func MostPriority(ctx context.Context) int64 {
	most := uint8(model.MaxPriority)
	for InClass(ctx, model.ServiceClass(most)) != nil {
		most--
	}
	return int64(most)
}

// ForNode returns an error if the caller is not the agent of a node.
func ForNode(ctx context.Context, node model.NodeID) error {
	if c := auth.From(ctx); c.Kind == auth.Node && c.Name != string(node) {
		return Denied("this is the agent of node " + c.Name + ", which may act for that node only")
	}
	return nil
}

// MayTell returns an error if a job or a service may not name an address for notifications.
func MayTell(s *state.State, address string) error {
	if address == "" {
		return nil
	}
	if err := notify.CheckTarget(s, address); err != nil {
		return problem.Invalid("webhook_url", err.Error())
	}
	return nil
}

// NoJob returns the problem of a job that is not known.
func NoJob() error {
	return problem.Refuse(wire.CodeNotFound, "there is no such job, or it has no such task; of jobs that ended long ago only GET /jobs/{job_id} is available")
}

// HideAddresses reduces the addresses of services of other users to their hosts.
func HideAddresses(ctx context.Context, list []wire.ServiceAllocation) {
	for i := range list {
		if w := &list[i]; w.WebhookURL != "" && !IsOperator(ctx) && w.User != auth.From(ctx).Name {
			w.WebhookURL = view.ShortURL(w.WebhookURL)
		}
	}
}

// ViewFor returns a view of a state that hides what the caller may not see: what other users' jobs
// run is for operators, and for the callers that jobs.show_commands names in the present state.
func (a *API) ViewFor(ctx context.Context, s, now *state.State, at model.Time) view.View {
	return view.View{State: s, Now: at, Sees: a.Sees(ctx, now)}
}

// Sees returns whether the caller may see what a job runs: its command with its arguments,
// its folder, and the values of a sweep, any of which may hold a secret.
func (a *API) Sees(ctx context.Context, now *state.State) func(*model.Job) bool {
	c := auth.From(ctx)
	if c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) {
		return func(*model.Job) bool { return true }
	}
	own := func(j *model.Job) bool {
		return (c.Kind == auth.User || c.Kind == auth.Service) && c.Owns(j.Spec.User, j.Submitted)
	}
	switch now.Settings().Defaults.Commands {
	case model.AudienceAll:
		return func(*model.Job) bool { return true }
	case model.AudienceProject:
		projects := a.Gate.Projects(now, c)
		return func(j *model.Job) bool {
			return own(j) || c.Role.Covers(model.RoleUser) && j.Spec.Project != "" && slices.Contains(projects, j.Spec.Project)
		}
	case model.AudienceUser:
	}
	return own
}

// IsOperator reports whether the caller is an operator or more. Without authentication every caller is.
func IsOperator(ctx context.Context) bool {
	c := auth.From(ctx)
	return c.Kind == auth.Open || c.Role.Covers(model.RoleOperator)
}
