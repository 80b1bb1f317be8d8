package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Reservations keep within what their owner may use: GPUs at a time, GPU time of each period,
// and a part of the cluster.
func TestReservationsKeepWithinTheOwnersLimits(t *testing.T) {
	t.Parallel()
	limited := func(list ...model.LimitValue) func(*statetest.Cluster) {
		return func(c *statetest.Cluster) { c.Do(&command.AdjustLimit{Scope: bob, Set: list}) }
	}
	gpus := func(n int64) model.LimitValue { return model.LimitValue{Of: model.LimitGPUs, Value: n} }
	hours := func(n int64, over model.OverQuota) []model.LimitValue {
		return []model.LimitValue{
			{Of: model.LimitGPUTime, Value: n * 3600},
			{Of: model.LimitPeriod, Value: int64(24 * time.Hour)},
			{Of: model.LimitOver, Value: int64(over)},
		}
	}
	vision := func(b *model.Booking) { b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: "vision"} }
	for name, v := range map[string]struct {
		before func(*statetest.Cluster)
		gpus   uint32
		change func(*model.Booking)
		capped bool
		want   string // in the refusal; empty: it is booked
	}{
		"within gpus":    {limited(gpus(2)), 2, nil, false, ""},
		"more than gpus": {limited(gpus(2)), 3, nil, false, "user bob may use 2 GPUs and would have 3 reserved"},
		"together more":  {func(c *statetest.Cluster) { limited(gpus(2))(c); c.Do(booked(c, 1)) }, 2, nil, false, "would have 3 reserved"},
		"one after the other": {
			func(c *statetest.Cluster) { limited(gpus(2))(c); c.Do(booked(c, 2)) }, 2,
			func(b *model.Booking) { b.Start, b.End = b.End, b.End.Add(time.Hour) }, false, "",
		},
		"the default of users": {func(c *statetest.Cluster) {
			c.Do(&command.AdjustLimit{Scope: model.ScopeKey{Kind: model.ScopeCluster}, Set: []model.LimitValue{{Of: model.LimitUserGPUs, Value: 1}}})
		}, 2, nil, false, "may use 1 GPUs"},
		"within gpu_hours":          {limited(hours(4, model.OverStop)...), 2, nil, false, ""},
		"more than gpu_hours":       {limited(hours(3, model.OverStop)...), 2, nil, false, "may use 3 GPU-hours"},
		"a quota that only lowers":  {limited(hours(3, model.OverLower)...), 2, nil, false, ""},
		"two days of a daily quota": {limited(hours(30, model.OverStop)...), 1, func(b *model.Booking) { b.End = b.Start.Add(40 * time.Hour) }, false, ""},
		"within a quarter":          {nil, 2, nil, true, ""},
		"more than a quarter":       {nil, 3, nil, true, "at most 2 may be"},
		"an operator's":             {nil, 4, nil, false, ""},
		"a second owner":            {func(c *statetest.Cluster) { c.Do(booked(c, 2)) }, 1, vision, true, "project vision would have 3 GPUs reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := two(t)
			c.Do(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 50, Ahead: 24 * time.Hour, Longest: 48 * time.Hour, PerUser: 9}})
			if v.before != nil {
				v.before(c)
			}
			b := booked(c, v.gpus)
			if b.Capped = v.capped; v.change != nil {
				v.change(&b.Booking)
			}
			r := c.Try(b)
			if v.want == "" && !r.OK() || v.want != "" && (r.Code != model.CodeLimit || !strings.Contains(r.Detail, v.want)) {
				t.Errorf("got %+v, want %q", r, v.want)
			}
		})
	}
}

// When users have made as many reservations as they may, operators still close nodes for maintenance.
func TestOperatorsHaveRoomForReservations(t *testing.T) {
	t.Parallel()
	c := two(t)
	c.Do(&command.SetBookingCaps{Caps: model.BookingCaps{
		Percent: 100, Ahead: 24 * time.Hour, Longest: 12 * time.Hour,
		PerUser: model.MaxBookings,
	}})
	c.Unchecked = true
	short := func(n int) *command.Book {
		b := booked(c, 1, func(b *model.Booking) {
			b.Start, b.End = c.Now.Add(time.Duration(n)*time.Minute), c.Now.Add(time.Duration(n+1)*time.Minute)
		})
		b.Capped = true
		return b
	}
	for n := range model.MaxUserBookings {
		c.Do(short(n))
	}
	if r := c.Try(short(model.MaxUserBookings)); r.Code != model.CodeLimit || !strings.Contains(r.Detail, "the last 128 are for operators") {
		t.Errorf("one more: %+v", r)
	}
	c.Do(maintained(c, "n1", func(b *model.Booking) { b.Start, b.End = c.Now.Add(10*time.Hour), c.Now.Add(11*time.Hour) }))
}
