package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/partition"
)

// Cluster holds the settings of which the cluster as a whole has one value. The values in force are
// in its state.
type Cluster struct {
	Running   bool // jobs are started
	Policy    string
	Tuning    model.Tuning
	Pools     model.Pools
	Retention model.Retention
	Defaults  model.Defaults
	Notify    model.Notify  // only Allow is a setting
	Queued    int64         // jobs that may wait; model.Unlimited: any number
	RunTime   time.Duration // the longest time limit of a job; 0: any
	UserGPUs  int64         // GPUs of each user without a limit of their own; model.Unlimited: any number
}

// defaultCluster returns the values that founders start with when no settings are given.
func defaultCluster() Cluster {
	return Cluster{
		Running: true, Policy: model.DefaultPolicy, Tuning: model.DefaultTuning(),
		Pools:     model.Pools{Mode: model.PoolDynamic, Part: model.DefaultPart},
		Retention: model.Retention{Jobs: 10_000, Age: 7 * 24 * time.Hour},
		Defaults:  model.Defaults{Class: model.ClassNormal},
		Queued:    100_000, UserGPUs: model.Unlimited,
	}
}

// ClusterOf returns the values in force in a state, by its settings and the limits of the cluster as a whole; limited reports whether it
// has any.
func ClusterOf(set model.Settings, limit model.Limit, limited bool) Cluster {
	c := Cluster{
		Running: set.Running, Policy: set.Policy, Tuning: set.Tuning, Pools: set.Pools, Retention: set.Retention, Defaults: set.Defaults,
		Notify: set.Notify,
		Queued: model.Unlimited, UserGPUs: model.Unlimited,
	}
	if c.Pools.Mode == model.PoolDefault {
		c.Pools.Mode = model.PoolDynamic
	}
	if c.Pools.Part == 0 {
		c.Pools.Part = model.DefaultPart
	}
	if c.Defaults.Class == 0 {
		c.Defaults.Class = model.ClassNormal
	}
	if limited {
		c.Queued, c.RunTime, c.UserGPUs = limit.Queued, limit.RunTime, limit.Get(model.LimitUserGPUs)
	}
	return c
}

// Changes returns the commands that change the values of was to those of c. Order and limits are
// changed in one step, so that two concurrent changes of different values both count.
func (c *Cluster) Changes(was Cluster) (out []command.Body) {
	if c.Running != was.Running {
		out = append(out, &command.SetRunning{Running: c.Running})
	}
	limit := &command.AdjustLimit{Scope: model.ScopeKey{Kind: model.ScopeCluster}, Set: c.limits(was)}
	if c.Policy != was.Policy || c.Tuning != was.Tuning {
		change := &command.AdjustPolicy{Tuning: c.Tuning.Values(c.Tuning.Differs(&was.Tuning)...), Limits: limit.Set}
		if c.Policy != was.Policy {
			change.Policy = c.Policy
		}
		out, limit.Set = append(out, change), nil
	}
	if c.Pools != was.Pools {
		out = append(out, &command.SetPools{Mode: c.Pools.Mode, Part: c.Pools.Part})
	}
	if c.Retention != was.Retention {
		out = append(out, &command.SetRetention{Retention: c.Retention})
	}
	if len(limit.Set) > 0 {
		out = append(out, limit)
	}
	if c.Defaults != was.Defaults {
		out = append(out, &command.SetDefaults{Defaults: c.Defaults})
	}
	if c.Notify != was.Notify {
		out = append(out, &command.SetNotify{Notify: c.Notify})
	}
	return out
}

// limits returns the limits of the cluster that differ from those of was.
func (c *Cluster) limits(was Cluster) (out []model.LimitValue) {
	if c.Queued != was.Queued {
		out = append(out, model.LimitValue{Of: model.LimitQueued, Value: c.Queued})
	}
	if c.RunTime != was.RunTime {
		v := int64(c.RunTime)
		if v == 0 {
			v = model.Unlimited
		}
		out = append(out, model.LimitValue{Of: model.LimitRunTime, Value: v})
	}
	if c.UserGPUs != was.UserGPUs {
		out = append(out, model.LimitValue{Of: model.LimitUserGPUs, Value: c.UserGPUs})
	}
	return out
}

// Founding returns the command that a new cluster's state starts with, without incarnation and
// level.
func (c *Cluster) Founding() command.Bootstrap {
	return command.Bootstrap{
		Running: c.Running, Policy: c.Policy, Retention: c.Retention, Tuning: c.Tuning, Pools: c.Pools, Defaults: c.Defaults, Notify: c.Notify,
		Limits: c.limits(Cluster{Queued: model.Unlimited, UserGPUs: model.Unlimited}),
	}
}

// Settings returns the rows of the table that belong to the cluster.
func (c *Cluster) Settings() []Setting {
	rows := []Setting{
		{
			Name: "scheduling.enabled", Means: "jobs are started; false: they wait until berth config set or berth orchestrator start",
			Value: Switch(&c.Running),
		},
		{
			Name: "scheduling.policy", Means: "the order of the queue", Value: Choice(&c.Policy, model.Policies()...),
		},
		{
			Name: "scheduling.max_queue_size", Means: "jobs that may wait; none: any number",
			Value: orNone(&c.Queued, model.LimitQueued),
		},
		{
			Name: "allocation.strategy", Means: "how strictly GPUs are guaranteed to the users and projects that own them",
			Value: poolMode(&c.Pools.Mode),
		},
		{
			Name: "allocation.reserved_ratio", Means: "part of the GPUs that hybrid reserves for their owners", Value: ratio(&c.Pools.Part),
		},
		{
			Name: "allocation.max_gpus_per_user", Means: "GPUs that each user without an own limit (berth quota) may use at once; none: any number",
			Value: orNone(&c.UserGPUs, model.LimitUserGPUs),
		},
		{
			Name: "jobs.max_run_time", Means: "the longest time limit of a job, and the limit of jobs without one; 0: any",
			Value: Span(&c.RunTime, model.MinRunTime, model.MaxDuration, true),
		},
		{
			Name: "retention.jobs", Means: "the most ended jobs that are kept", Value: Number(&c.Retention.Jobs, "jobs", 0, model.MaxRetained),
		},
		{
			Name: "retention.age", Means: "the longest time for which ended jobs are kept", Value: Span(&c.Retention.Age, model.MinRetained, model.MaxDuration, false),
		},
	}
	rows = append(rows, Setting{
		Name: "webhooks.allow", Means: "where webhooks may go: hosts, *.domain, addresses and networks, with commas, as berth webhook settings --allow takes them; empty: public " +
			"addresses, and loopback if the cluster is founded without authentication. berth init writes the private networks of its machine",
		Value: receivers(&c.Notify.Allow),
	})
	for _, p := range model.JobDefaults() {
		rows = append(rows, c.jobDefault(p))
	}
	for _, p := range model.Parameters() {
		rows = append(rows, Setting{Name: cmp.Or(p.Setting, "scheduling."+p.Name), Flag: p.Flag, Means: p.What, Value: parameter[model.Tuning]{p, &c.Tuning}})
	}
	slices.SortStableFunc(rows, func(a, b Setting) int { return strings.Compare(sectionOf(a.Name), sectionOf(b.Name)) })
	for i := range rows {
		rows[i].For, rows[i].Cluster = OfServer, true
	}
	return rows
}

// jobDefault returns the row of a default of jobs.
func (c *Cluster) jobDefault(p model.Parameter[model.Defaults]) Setting {
	row := Setting{Name: cmp.Or(p.Setting, "jobs."+p.Name), Flag: p.Flag, Means: p.What, Value: parameter[model.Defaults]{p, &c.Defaults}}
	switch p.Name {
	case "name":
		row.Value = Text(&c.Defaults.Name, "name")
	case "priority": // also by name
		row.Value = class(&c.Defaults.Class)
	case "partitions":
		row.Value = partitions(&c.Defaults.Partitions)
	case "qos":
		row.Value = partitions(&c.Defaults.QOS)
	}
	return row
}

// receivers returns a value for where webhooks may go.
func receivers(to *string) Value {
	return scalar[string]{to, "list of hosts and networks", func(s string) (string, error) {
		if !model.Text(s, model.MaxAllow) {
			return "", fmt.Errorf("must be at most %d bytes", model.MaxAllow)
		}
		return s, model.CheckAllow(s)
	}, func(s string) string { return s }}
}

// partitions is a value for a table of partitions or QOS.
func partitions(to *string) Value {
	return scalar[string]{to, partition.Form, func(s string) (string, error) {
		if _, err := partition.Parse(s); err != nil {
			return "", fmt.Errorf("must be %s: %w", partition.Form, err)
		}
		return s, nil
	}, func(s string) string { return s }}
}

func sectionOf(name string) string {
	section, _, _ := strings.Cut(name, ".")
	return section
}

// parameter is a value of the tuning or of the defaults of jobs.
type parameter[T any] struct {
	p  model.Parameter[T]
	to *T
}

func (v parameter[T]) Text() string {
	text := v.p.Value(v.to)
	if d, err := time.ParseDuration(text); err == nil && text != "0" {
		return Short(d)
	}
	return text
}
func (v parameter[T]) Kind() string { return v.p.Range }
func (v parameter[T]) shape() shape { return isScalar }

func (v parameter[T]) Set(texts []string) error {
	text := strings.Join(texts, ",")
	tries := []string{text, strings.ReplaceAll(strings.ToLower(text), "-", "_")}
	if d, err := span(text); err == nil {
		tries = append(tries, d.String())
	}
	for _, try := range tries {
		draft := *v.to
		if v.p.Set(&draft, try) == nil {
			*v.to = draft
			return nil
		}
	}
	return fmt.Errorf("must be %s, not %q", v.p.Range, text)
}

// class returns a value for a class of jobs, by name or number.
func class(to *model.Class) Value {
	return scalar[model.Class]{to, "low, normal, high or critical, or 1 to 4", func(s string) (model.Class, error) {
		for c := model.ClassLow; c <= model.ClassCritical; c++ {
			if strings.EqualFold(s, c.String()) || s == strconv.Itoa(int(c)) {
				return c, nil
			}
		}
		return 0, fmt.Errorf("must be low, normal, high or critical, or 1 to 4, not %q", s)
	}, model.Class.String}
}

// poolMode returns a value for a pool's mode, by name.
func poolMode(to *model.PoolMode) Value {
	var word string
	choice := Choice(&word, "dynamic", "static", "hybrid")
	return scalar[model.PoolMode]{to, choice.Kind(), func(s string) (model.PoolMode, error) {
		err := choice.Set([]string{s})
		return model.PoolModeOf(word), err
	}, model.PoolMode.String}
}

// ratio returns a value for a part of 1, kept in thousandths.
func ratio(to *uint32) Value {
	return scalar[uint32]{to, "number above 0, at most 1", func(s string) (uint32, error) {
		v, err := strconv.ParseFloat(s, 64)
		if thousandths := math.Round(v * 1000); err == nil && thousandths >= 1 && thousandths <= 1000 {
			return uint32(thousandths), nil
		}
		return 0, fmt.Errorf("must be a number above 0 and at most 1, such as 0.3, not %q", s)
	}, func(n uint32) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }}
}

// orNone returns a value for a limit that is a whole number, or none.
func orNone(to *int64, of model.LimitField) Value {
	least, most, _ := of.Allows()
	return scalar[int64]{to, "number or none", func(s string) (int64, error) {
		if strings.EqualFold(s, "none") {
			return model.Unlimited, nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d, or none, not %q", least, most, s)
		}
		return n, nil
	}, func(n int64) string {
		if n == model.Unlimited {
			return "none"
		}
		return strconv.FormatInt(n, 10)
	}}
}

// Set changes values by name; it changes nothing if any of them is not valid.
func (c *Cluster) Set(values map[string]string) error {
	draft := *c
	t := newTable(draft.Settings())
	var wrong []error
	for name, text := range values { // order-free: joined in the order of names below
		row := t.row(name)
		if row == nil {
			wrong = append(wrong, fmt.Errorf("there is no setting %s of the cluster%s", name, t.meant(name)))
		} else if err := row.Value.Set([]string{text}); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", name, err))
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	*c = draft
	return nil
}
