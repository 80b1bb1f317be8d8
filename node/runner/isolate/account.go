package isolate

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// Rules map users to accounts. The zero value runs jobs as the user of the agent, with all rights of that
// user.
type Rules struct {
	On      bool              // jobs run under their users' accounts
	Map     map[string]string // from users to accounts; a user that is missing has the account of the same name
	Only    bool              // a user that is not in Map may not run anything
	Root    bool              // an account may be root's
	Umask   *uint32           // nil: 077
	MaxOpen uint64            // open files of a process; 0: as the agent has
	MaxCore uint64            // bytes of a core file; 0: none is written
	Hide    []string          // the agent's folders, which jobs do not see
	Peers   Peers             // of this host, whose accounts run no job and whose folders jobs do not see
}

// Account is the account that a job runs under.
type Account struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32 // all of them
	Home   string
}

// Account finds the account of a user. Its error is for that user to read.
func (r *Rules) Account(name string) (*Account, error) {
	unix, mapped := r.Map[name]
	switch {
	case !mapped && r.Only:
		return nil, fmt.Errorf("the user %q is mapped to no account on this node", name)
	case !mapped:
		unix = name
	}
	found, groups, err := hostDatabases().find(unix)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		return nil, fmt.Errorf("the user %q has no account %q on this node", name, unix)
	}
	if err != nil {
		return nil, fmt.Errorf("the account %q cannot be looked up: %w", unix, err)
	}
	a, err := account(found, groups)
	if err != nil {
		return nil, err
	}
	if err := r.fits(a, name, unix, mapped); err != nil {
		return nil, err
	}
	return a, nil
}

// fits returns why a user's job may not run under an account: only the account of a person is a user's by its name alone. The user's name
// may be one that an identity provider states, or that its user has chosen there.
func (r *Rules) fits(a *Account, name, unix string, mapped bool) error {
	switch {
	case a.UID == 0 && !r.Root:
		return fmt.Errorf("the account %q is root's, and this node runs no job as root", unix)
	case a.UID == 0:
		return nil
	case r.Peers.runUnder(a):
		return fmt.Errorf("a peer of the cluster runs under the account %q on this host, and no job does: map the user to another (agent.accounts or --account %s=NAME)", unix, name)
	case mapped:
		return nil
	case a.Name != unix && strings.EqualFold(a.Name, unix):
		return fmt.Errorf("the account that this node finds for %q is named %q: map the user if it is theirs (agent.accounts or --account %s=%s)", unix, a.Name, name, a.Name)
	}
	if why := hostSystem().why(a); why != "" {
		return fmt.Errorf("the account %q is one of the system (%s): map the user to it if that is meant (agent.accounts or --account %s=%s)", unix, why, name, unix)
	}
	return nil
}

func account(u *user.User, groups []string) (*Account, error) {
	numbers := make([]uint32, 0, len(groups)+2)
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 1<<32-1 { // this one stands for "leave as it is"
			return nil, fmt.Errorf("the account %q has the unfit number %q", u.Username, text)
		}
		numbers = append(numbers, uint32(n))
	}
	a := &Account{Name: u.Username, UID: numbers[0], GID: numbers[1], Home: u.HomeDir, Groups: numbers[1:]}
	slices.Sort(numbers[1:])
	a.Groups = slices.Compact(numbers[1:])
	return a, nil
}

// Environment returns the variables that describe the account to a process.
func (a *Account) Environment() []string {
	return []string{"HOME=" + a.Home, "USER=" + a.Name, "LOGNAME=" + a.Name}
}
