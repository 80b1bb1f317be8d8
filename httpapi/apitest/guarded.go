package apitest

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// Tokens of the guarded sites, by user and role.
const (
	Viewer     = "berth_viewer_vera"
	Ann        = "berth_user_ann"
	Bob        = "berth_user_bob"
	Operator   = "berth_operator_otto"
	Adam       = "berth_admin_adam"
	AgentOf2   = "berth_agent_of_n2"
	AgentOf1   = "berth_agent_of_n1"
	FirstToken = "berth_first"
	ServiceKey = "a-key-of-sixteen-bytes"
)

// Guard turns authentication on, and adds those users.
func Guard(c *statetest.Cluster) {
	c.Do(&command.FoundAuth{Token: auth.HashOf(FirstToken)})
	for _, v := range []struct {
		token, user string
		role        model.Role
	}{
		{Viewer, "vera", model.RoleViewer},
		{Ann, "ann", model.RoleUser},
		{Bob, "bob", model.RoleUser},
		{Operator, "otto", model.RoleOperator},
		{Adam, "adam", model.RoleAdmin},
		{AgentOf2, "n2", model.RoleAgent},
		{AgentOf1, "n1", model.RoleAgent},
	} {
		b := &command.MakeToken{Hash: auth.HashOf(v.token), User: v.user, Role: v.role}
		if v.role == model.RoleAgent {
			b.Expires = c.Now.Add(1000 * time.Hour)
		}
		c.Do(b)
	}
	c.Do(&command.SetUser{User: "ann", Join: []string{"vision"}})
}

// NewGuarded is a site with authentication.
func NewGuarded(t testing.TB) *Site {
	s := New(t)
	s.With(Guard)
	return s
}

// As returns the headers of a caller with a token.
func As(token string) []string { return []string{"Authorization", "Bearer " + token} }
