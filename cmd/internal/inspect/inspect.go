// Package inspect reads the facts about a machine that is a peer or a node, for cmd/internal/doctor to judge. It has the code of peers
// and agents, and is a part of berthd only.
package inspect

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
)

// Members examines this machine in its roles, peer or node, and adds what it finds to a report.
func Members(ctx context.Context, at *examine.Place, to *doctor.Report) {
	for _, role := range at.Roles {
		m := open(at, role)
		to.Roles = append(to.Roles, doctor.Role{Role: role, Name: m.name})
		to.Add(doctor.Settings(m.file, m.settingsErr))
		if m.settingsErr == nil {
			to.Add(doctor.Access(m.access(ctx))...)
		}
		m.examine(ctx, to)
	}
}

// access returns what of the files and folders that the settings name the role's program cannot use.
func (m *member) access(ctx context.Context) []doctor.Denied {
	p := &place{role: m.role}
	if !m.outside() {
		p = placeOf(ctx, m.role)
	}
	return p.access(m.settings)
}

// examine carries out the checks of a role.
func (m *member) examine(ctx context.Context, to *doctor.Report) {
	seen := m.ask(ctx)
	if to.Add(doctor.Synchronised(synchronised())); len(seen.clocks) > 0 {
		to.Add(doctor.Clocks(seen.clocks)...)
	} else {
		to.Add(doctor.Skip(doctor.CheckClock, "peers", "no peer answers, so this clock cannot be compared"))
	}
	to.Add(doctor.Disk(m.folder())...)
	to.Add(doctor.Listeners(m.listeners(seen))...)
	to.Add(doctor.Reaches(seen.reaches)...)
	to.Add(seen.skipped...)
	to.Add(doctor.Names(m.hosts(ctx), addresses(), seen.back)...)
	to.Add(doctor.Certificates(m.certificate(seen), time.Now())...)
	to.Add(doctor.Units(m.units(ctx))...)
	to.Add(doctor.Limits(m.limits())...)
	if m.role == roleNode {
		to.Add(doctor.ControlGroups(m.groups(ctx))...)
		to.Add(doctor.GPUs(m.driver())...)
		to.Add(doctor.Accounts(m.accounts(ctx, seen))...)
	} else {
		to.Add(doctor.Quorum(seen.peer)...)
		to.Add(m.account(ctx)...)
	}
	seen.programs.Own = build.Version()
	to.Add(doctor.Versions(&seen.programs)...)
}
