package model

// Role is a set of rights. Each role has all rights of those before it, except for those of machines: RoleAgent
// and RolePeer. A token with the role of a machine lets one machine join the cluster, and has no other rights.
type Role uint8

// The roles. Numbers are in snapshots and never change.
const (
	RoleNone     Role = 0 // may do nothing
	RoleViewer   Role = 1 // reads
	RoleUser     Role = 2 // submits jobs and changes their own
	RoleOperator Role = 3 // changes all jobs, nodes and GPUs
	RoleAdmin    Role = 4 // changes quotas, shares, policies, users and tokens
	RoleAgent    Role = 5 // acts for a node
	RolePeer     Role = 6 // is a peer
)

// Roles returns the roles that can be given, the least first.
func Roles() []Role {
	return []Role{RoleViewer, RoleUser, RoleOperator, RoleAdmin, RoleAgent, RolePeer}
}

// RoleNamed finds a role by its name.
func RoleNamed(name string) (Role, bool) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, true
		}
	}
	return RoleNone, false
}

// Valid reports whether r is one of [Roles].
func (r Role) Valid() bool { return r >= RoleViewer && r <= RolePeer }

// Human reports whether r is a role of users and services, not of machines.
func (r Role) Human() bool { return r >= RoleViewer && r <= RoleAdmin }

// Machine reports whether r is a role of machines: a token with the role lets one machine join the cluster.
func (r Role) Machine() bool { return r.Valid() && !r.Human() }

// Covers reports whether a caller with the role may use what requires least.
func (r Role) Covers(least Role) bool {
	if !r.Human() || !least.Human() {
		return r == least && r.Valid()
	}
	return r >= least
}

// String returns the role's name; that of RoleNone is "none".
func (r Role) String() string {
	return NameOf(r, "none", "viewer", "user", "operator", "admin", "agent", "peer")
}
