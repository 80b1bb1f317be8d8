package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Groups is what a node has of control groups.
type Groups struct {
	Kind        string // v2, hybrid, v1 or none
	Unit        string // of systemd, that holds the groups of all jobs; empty: systemd does not run
	Path        string // of its group; empty: there is none
	Holding     bool   // the unit's own process is there
	Delegated   bool   // systemd has handed the group over
	Controllers []string
	Inside      string // with no systemd: the group in which the agent makes those of jobs; empty: none
}

// limiting are the controllers that jobs need.
var limiting = []string{"cpu", "memory", "pids"}

// ControlGroups judges whether jobs can be limited and ended as groups.
func ControlGroups(g *Groups) []Finding {
	a := about{CheckGroups, "jobs"}
	switch {
	case g.Kind != "v2":
		return []Finding{a.warning("boot with systemd.unified_cgroup_hierarchy=1, or a distribution that has version 2", "control groups are of kind %s, not v2: cores, memory and processes of jobs are not limited", g.Kind)}
	case g.Unit == "" && g.Inside == "":
		return []Finding{a.warning("run the agent by its unit, or in a container with a writable cgroup (docs/operations.md)", "no control group is delegated to the agent: cores, memory and processes of jobs are not limited")}
	case g.Unit == "":
		return []Finding{controllers(a, g)}
	case g.Path == "" || !g.Holding:
		return []Finding{a.fault("systemctl start "+g.Unit, "%s does not run: no job starts on this node, since the agent counts it as degraded", g.Unit)}
	case !g.Delegated:
		return []Finding{a.fault("systemctl revert "+g.Unit+" && systemctl restart "+g.Unit+" while no job runs", "the group of %s is not delegated (Delegate=yes is missing)", g.Unit)}
	}
	return []Finding{controllers(a, g)}
}

func controllers(a about, g *Groups) Finding {
	var lacks []string
	for _, c := range limiting {
		if !slices.Contains(g.Controllers, c) {
			lacks = append(lacks, c)
		}
	}
	if len(lacks) > 0 {
		return a.warning("systemctl show -p DelegateControllers "+g.Unit+"; a controller that is missing at the root is turned off by the kernel's command line (cgroup_disable)",
			"the controllers %s are not delegated: jobs are not limited by them", strings.Join(lacks, ", "))
	}
	return a.ok("version 2, with the controllers %s", strings.Join(g.Controllers, ", "))
}

// UnitState is a unit of systemd.
type UnitState struct {
	Name    string
	Load    string // loaded, not-found, masked, bad-setting, error
	Active  string // active, inactive, failed, ...
	Enabled string // enabled, disabled, masked-runtime, ...
	Starter string // a unit that starts this one with itself; empty: there is none
	Outside bool   // the program runs, and not by the unit
	Over    bool   // its program must not be started again: the peer was removed from the cluster
}

// Units judges units. With none, systemd does not run, or cannot be asked: err.
func Units(list []UnitState, err error) (out []Finding) {
	if err != nil {
		return []Finding{Skip(CheckUnits, "systemd", "units cannot be asked about: %v", err)}
	}
	for _, u := range list {
		a := about{CheckUnits, u.Name}
		switch {
		case u.Outside:
			out = append(out, a.ok("the program runs, and not by the unit (%s)", u.Active))
		case u.Load == "not-found":
			out = append(out, a.warning("install the package, or copy the unit from deploy/", "systemd does not know the unit"))
		case u.Load == "masked":
			unmask := "systemctl unmask "
			if u.Enabled == "masked-runtime" {
				unmask += "--runtime "
			}
			out = append(out, a.fault(unmask+u.Name+" && systemctl enable --now "+u.Name, "the unit is masked and %s", u.Active))
		case u.Load != "loaded":
			out = append(out, a.fault("systemd-analyze verify "+u.Name+" shows what is wrong with the file of the unit", "systemd cannot load the unit (%s)", u.Load))
		case u.Active != "active" && u.Over:
			out = append(out, a.warning("systemctl disable "+u.Name+", unless the machine joins again", "the unit is %s, since its peer was removed from the cluster", u.Active))
		case u.Active != "active":
			out = append(out, a.fault("systemctl enable --now "+u.Name+"; journalctl -u "+u.Name+" says why it ended", "the unit is %s", u.Active))
		case u.Starter != "":
			out = append(out, a.ok("active, started by %s", u.Starter))
		case u.Enabled != "enabled" && u.Enabled != "static":
			out = append(out, a.warning("systemctl enable "+u.Name, "the unit runs, and is not started with the machine (%s)", u.Enabled))
		default:
			out = append(out, a.ok("active, enabled"))
		}
	}
	return out
}

// Unlimited is the value of a limit that does not limit.
const Unlimited = ^uint64(0)

// Limit is a limit of the kernel, or of a process.
type Limit struct {
	Name   string // as in limits.conf(5) or sysctl(8)
	Of     string // "berthd agent", "kernel"
	Has    uint64 // see [Unlimited]
	Least  uint64
	Remedy string
	Err    error
}

// Limits judges limits.
func Limits(list []Limit) (out []Finding) {
	for _, l := range list {
		a := about{CheckLimits, l.Of + ": " + l.Name}
		switch {
		case l.Err != nil:
			out = append(out, a.skipped("%v", l.Err))
		case l.Has < l.Least:
			out = append(out, a.warning(l.Remedy, "it is %s, less than %s", amount(l.Has), amount(l.Least)))
		default:
			out = append(out, a.ok("%s", amount(l.Has)))
		}
	}
	return out
}

func amount(n uint64) string {
	if n == Unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

// Agent is the accounts of a node: under which it runs jobs, and those of users.
type Agent struct {
	AsUsers bool   // --run-as-users
	Shared  bool   // --shared-account
	Account string // of the agent; empty: it does not run
	Root    bool   // the agent is root's
	Unable  error  // why an agent as root cannot isolate jobs
	Users   []User
	Err     error // why the users of the cluster are not known
}

// User is a user of the cluster, and why no account of this node is the user's; nil: one is.
type User struct {
	Name string
	Err  error
}

// Accounts judges the accounts of a node.
func Accounts(g *Agent) (out []Finding) {
	a := about{CheckAccounts, "agent"}
	switch {
	case !g.AsUsers && g.Shared:
		return append(out, a.ok("jobs of all users run under the account of the agent (agent.shared_account)"))
	case !g.AsUsers:
		return append(out, a.warning("set agent.run_as_users: true and run the agent as root, or agent.shared_account: true if all users may read what this account may",
			"jobs run under the account of the agent, and only those of the user of that name"))
	case g.Account != "" && !g.Root:
		return append(out, a.fault("run the agent by its unit, which is root's, or set agent.run_as_users: false", "agent.run_as_users is set, and the agent runs as %s, which is not root", g.Account))
	case g.Unable != nil:
		return append(out, a.fault("run the agent by its unit, which has all capabilities", "jobs cannot be run under the accounts of users: %v", g.Unable))
	}
	out = append(out, a.ok("the agent runs jobs under the accounts of their users"))
	if g.Err != nil {
		return append(out, Skip(CheckAccounts, "users", "the users of the cluster are not known here: %v", g.Err))
	}
	missing := 0
	for _, u := range g.Users {
		if u.Err != nil {
			missing++
			out = append(out, about{CheckAccounts, "user " + u.Name}.warning("add the account (getent passwd "+u.Name+" has to print it), or map the user to one with agent.accounts", "jobs of the user do not run here: %v", u.Err))
		}
	}
	if missing == 0 {
		out = append(out, about{CheckAccounts, "users"}.ok("all %s of the cluster have an account here", count(len(g.Users), "user")))
	}
	return out
}

// Account judges an account that a unit needs.
func Account(name string, err error) Finding {
	a := about{CheckAccounts, "account " + name}
	if err != nil {
		return a.fault("systemd-sysusers, which reads what the package has installed; or useradd --system "+name, "this machine does not have the account under which peers run: %v", err)
	}
	return a.ok("the account exists")
}
