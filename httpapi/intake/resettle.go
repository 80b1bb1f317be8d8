package intake

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Settings parses settings strictly, at all levels.
func Settings(raw []byte) (*wire.Arrangement, error) {
	set, err := strict.New[wire.Arrangement]().Decode(raw)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(new(wire.Arrangement)); err != nil {
		return nil, problem.Refuse(wire.CodeInvalid, strings.TrimPrefix(err.Error(), "json: ")+" is in none of them")
	}
	return set, nil
}

// Current is what the changes of an import depend on of the present state.
type Current struct {
	Settings model.Settings
	Queued   func(model.AllocationID) bool // reports whether a service with this id is queued
}

// Changes converts the settings of an import to commands that may be repeated.
func Changes(now *Current, set *wire.Arrangement) (list []command.Body, err error) {
	for _, add := range []func(*Current, *wire.Arrangement) ([]command.Body, error){
		order, division, customs, usersOf, quotasOf, sharesOf,
		servicesOf,
	} {
		some, err := add(now, set)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	if set.Running != nil {
		list = append(list, &command.SetRunning{Running: *set.Running})
	}
	return list, nil
}

// order returns the changes of the policy and its tuning.
func order(now *Current, set *wire.Arrangement) (list []command.Body, err error) {
	if policy := strings.ReplaceAll(set.Policy, "-", "_"); policy != "" {
		if !model.KnownPolicy(policy) {
			return nil, problem.Invalid("policy", "must be one of "+strings.Join(model.Policies(), ", "))
		}
		list = append(list, &command.SetPolicy{Policy: policy})
	}
	if len(set.Parameters) > 0 {
		tuning := now.Settings.Tuning
		for _, name := range slices.Sorted(maps.Keys(set.Parameters)) {
			if err := tuning.Set(name, set.Parameters[name]); err != nil {
				return nil, problem.Invalid("parameters", err.Error())
			}
		}
		list = append(list, &command.SetTuning{Tuning: tuning})
	}
	return list, nil
}

// division returns the changes of how GPUs are divided and reserved, and how long jobs are
// remembered.
func division(now *Current, set *wire.Arrangement) (list []command.Body, err error) {
	if set.Allocation != nil {
		c, err := Pools(set.Allocation)
		if err != nil {
			return nil, problem.Under("allocation", err)
		}
		list = append(list, c)
	}
	if set.Reservation != nil {
		c, err := Caps(now.Settings.Booking, set.Reservation)
		if err != nil {
			return nil, problem.Under("reservation_limits", err)
		}
		list = append(list, c)
	}
	if r := set.Retention; r != nil {
		jobs, err := Count("jobs", &r.Jobs, 0, model.MaxRetained, 0)
		if err != nil {
			return nil, problem.Under("retention", err)
		}
		list = append(list, &command.SetRetention{Retention: model.Retention{Jobs: jobs, Age: time.Duration(r.Age)}})
	}
	return list, nil
}

// customs returns the changes of the defaults of jobs, and of the cluster's name.
func customs(_ *Current, set *wire.Arrangement) ([]command.Body, error) {
	if set.Defaults == nil {
		return nil, nil
	}
	d, err := defaultsOf(set.Defaults)
	if err != nil {
		return nil, problem.Under("defaults", err)
	}
	c := &command.SetDefaults{Defaults: d}
	if err := c.Validate(); err != nil {
		return nil, problem.Under("defaults", err)
	}
	return []command.Body{c}, nil
}

func usersOf(_ *Current, set *wire.Arrangement) (list []command.Body, err error) {
	for i, u := range set.Users {
		c := &command.SetUser{User: u.Name, Join: u.Projects}
		if c.Role, err = Role(u.Role); err == nil {
			err = accountOf(u.Account, c)
		}
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			return nil, problem.Under(problem.Nth("users", i), err)
		}
		list = append(list, c)
	}
	return list, nil
}

// nextAccount stands for the account of a user that the next sign-in under the name decides.
const nextAccount = "next"

// accountOf completes a user with the account at the identity provider: whatever the provider states next is newer.
func accountOf(text string, c *command.SetUser) error {
	if text == "" || text == nextAccount {
		c.Bind = text == nextAccount
		return nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(c.Subject) {
		return problem.Invalid("account", "must be next, or a hash of 64 hexadecimal digits")
	}
	copy(c.Subject[:], raw)
	c.Stated = 1
	return nil
}

func quotasOf(_ *Current, set *wire.Arrangement) (list []command.Body, err error) {
	for i := range set.Quotas {
		q := &set.Quotas[i]
		scope, err := scopeNamed(q.Scope, q.Name, true)
		if err != nil {
			return nil, problem.Under(problem.Nth("quotas", i), err)
		}
		values, err := Limits(scope, &q.Limits)
		if err != nil {
			return nil, problem.Under(problem.Nth("quotas", i)+".limits", err)
		}
		list = append(list, &command.AdjustLimit{Scope: scope, Set: values})
	}
	return list, nil
}

func sharesOf(_ *Current, set *wire.Arrangement) (list []command.Body, err error) {
	for i, w := range set.Shares {
		scope, err := scopeNamed(w.Scope, w.Name, false)
		if err != nil {
			return nil, problem.Under(problem.Nth("shares", i), err)
		}
		n, err := Count("shares", &w.Shares, 1, 10_000, 0)
		if err != nil {
			return nil, problem.Under(problem.Nth("shares", i), err)
		}
		list = append(list, &command.SetWeight{Weight: model.Weight{Scope: scope, Shares: n}})
	}
	return list, nil
}

// servicesOf returns the commands that queue the services of an import that are not queued yet.
func servicesOf(now *Current, set *wire.Arrangement) (list []command.Body, err error) {
	for i := range set.Services {
		in := &set.Services[i]
		where := problem.Nth("services", i)
		id := model.AllocationID(in.ID)
		if now.Queued(id) {
			continue
		}
		c, err := allocation(&in.Request)
		if err != nil {
			return nil, problem.Under(where+".request", err)
		}
		if c.ID, c.User = id, in.User; in.Request.User != "" {
			return nil, problem.Under(where, problem.Invalid("request", "must not contain a user: the field user has it"))
		}
		if err := c.Validate(); err != nil {
			return nil, problem.Under(where, err)
		}
		list = append(list, c)
	}
	return list, nil
}
