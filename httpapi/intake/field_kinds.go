package intake

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The functions of this file complete a field whose values have one form: they add its bounds, how it is read
// and written, and how its first flag is set.

// text is a text of at most so many bytes, which the specification holds as it is given.
func text(f Field, most int, in func(*wire.Submit) *string, to func(*model.Spec) *string) Field {
	f.Kind = "text"
	if most > 0 {
		f.Bounds = fmt.Sprintf("at most %d bytes", most)
	}
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) error {
		*to(&c.Spec) = *in(r)
		return nil
	}
	f.write = func(j *model.Job, r *wire.Submit) { *in(r) = *to(&j.Spec) }
	return f.setBy(FormText, func(r *wire.Submit, v *FlagValue) error {
		*in(r) = v.Text
		return nil
	})
}

// count is a whole number; none stands for one that is not given, and is left out of exports if it is 0.
func count(f Field, least, most, none int64, in func(*wire.Submit) **int64, to func(*model.Spec) *uint32) Field {
	f = number(f, least, most, in)
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
		*to(&c.Spec), err = Count(f.Name, *in(r), least, most, none)
		return err
	}
	f.write = func(j *model.Job, r *wire.Submit) {
		if n := *to(&j.Spec); n > 0 || least == 0 {
			*in(r) = new(int64(n))
		}
	}
	return f
}

// number is a whole number that is no value of the specification by itself: it is only checked.
func number(f Field, least, most int64, in func(*wire.Submit) **int64) Field {
	f.Kind, f.Bounds, f.Least, f.Most = "number", fmt.Sprintf("%d to %d", least, most), least, most
	f.read = func(r *wire.Submit, _ *command.Submit, _ model.Time) error {
		_, err := Count(f.Name, *in(r), least, most, 0)
		return err
	}
	return f.setBy(FormNumber, func(r *wire.Submit, v *FlagValue) error {
		*in(r) = new(v.Number)
		return nil
	})
}

// onOff is a switch.
func onOff(f Field, in func(*wire.Submit) **bool, to func(*model.Spec) *bool) Field {
	f.Kind = "true or false"
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) error {
		*to(&c.Spec) = Or(*in(r), false)
		return nil
	}
	f.write = func(j *model.Job, r *wire.Submit) { *in(r) = new(*to(&j.Spec)) }
	return f.setBy(FormSwitch, func(r *wire.Submit, v *FlagValue) error {
		*in(r) = new(v.On)
		return nil
	})
}

// times holds the bounds of a duration, and what it is if it is not given.
type times struct {
	least, most, none time.Duration
	off               bool                                // 0 is allowed in addition
	zero              string                              // why a given 0 is refused; empty: it is not
	seconds           func(*wire.Submit) **float64        // the other name, in seconds; nil: there is none
	always            bool                                // exports have it even if it is 0
	cluster           func(*model.Defaults) time.Duration // what the cluster has for jobs without; nil: nothing
}

// bounds returns the bounds in words.
func (t *times) bounds() string {
	text := "at most " + brief(t.most)
	if t.least > 0 {
		text = brief(t.least) + " to " + brief(t.most)
	}
	if t.off {
		text = "0, or " + text
	}
	return text
}

// brief formats a duration in its largest whole unit.
func brief(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return d.String()
}

// duration is a length of time. Its bounds are checked with the whole specification.
func duration(f Field, t times, in func(*wire.Submit) **wire.Duration, to func(*model.Spec) *time.Duration) Field {
	f.Kind, f.Bounds = "time", t.bounds()
	given := func(r *wire.Submit) (*time.Duration, error) {
		if t.seconds == nil {
			return (*time.Duration)(*in(r)), nil
		}
		return Duration(f.Name, f.Aliases[0], *in(r), *t.seconds(r))
	}
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) error {
		d, err := given(r)
		switch {
		case err != nil:
			return err
		case d != nil && *d == 0 && t.zero != "":
			return problem.Invalid(f.Name, t.zero)
		}
		*to(&c.Spec) = Or(d, t.none)
		return nil
	}
	f.write = func(j *model.Job, r *wire.Submit) {
		if d := *to(&j.Spec); d > 0 || t.always {
			*in(r) = new(wire.Duration(d))
		}
	}
	if t.cluster != nil {
		f.usual = func(r *wire.Submit, s *model.Spec, set *model.Settings) {
			if d, err := given(r); err == nil && d == nil {
				*to(s) = t.cluster(&set.Defaults)
			}
		}
	}
	return f.setBy(FormText, func(r *wire.Submit, v *FlagValue) error {
		d, err := wire.ParseDuration(v.Text)
		if err != nil {
			return fmt.Errorf("--%s %w", f.Flags[0].Name, err)
		}
		*in(r) = new(wire.Duration(d))
		return nil
	})
}

// gigabytes is a size of memory in GB of 1,000 MB, as GPUs are sold. It is rounded up to MB; a GPU reports
// somewhat more than its name says.
func gigabytes(f Field, in, other func(*wire.Submit) **float64, to func(*model.Spec) *uint32) Field {
	f.Kind, f.Bounds = "GB", "0 to "+strconv.Itoa(model.MaxMemoryGB)
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
		gb := *in(r)
		if other != nil {
			if gb, err = same(f.Name, f.Aliases[0], gb, *other(r)); err != nil {
				return err
			}
		}
		*to(&c.Spec), err = megabytes(f.Name, gb)
		return err
	}
	f.write = func(j *model.Job, r *wire.Submit) { *in(r) = inGB(*to(&j.Spec)) }
	return f.setBy(FormText, func(r *wire.Submit, v *FlagValue) error {
		digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(v.Text), "B"), "G")
		gb, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || gb <= 0 {
			return fmt.Errorf("--%s must be a number of GB, not %q", f.Flags[0].Name, v.Text)
		}
		*in(r) = &gb
		return nil
	})
}

// megabytes converts GB to MB.
func megabytes(field string, gb *float64) (uint32, error) {
	switch {
	case gb == nil:
		return 0, nil
	case math.IsNaN(*gb) || *gb < 0 || *gb > model.MaxMemoryGB:
		return 0, problem.Invalid(field, "must be 0 to "+strconv.Itoa(model.MaxMemoryGB))
	}
	return uint32(math.Ceil(*gb * 1000)), nil
}

// inGB converts MB to the GB that megabytes converts back to the same.
func inGB(mb uint32) *float64 {
	if mb == 0 {
		return nil
	}
	gb := float64(mb) / 1000
	if math.Ceil(gb*1000) > float64(mb) {
		gb = math.Nextafter(gb, 0)
	}
	return &gb
}

// hosts is a list of nodes.
func hosts(f Field, in func(*wire.Submit) *[]string, to func(*model.Spec) *string) Field {
	f.Kind = "list of texts"
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
		*to(&c.Spec), err = nodes(f.Name, *in(r))
		return err
	}
	f.write = func(j *model.Job, r *wire.Submit) { *in(r) = listed(*to(&j.Spec)) }
	return f.setBy(FormText, func(r *wire.Submit, v *FlagValue) error {
		list, err := model.ParseNodes(v.Text)
		if err != nil {
			return fmt.Errorf("--%s %w", f.Flags[0].Name, err)
		}
		*in(r) = list
		return nil
	})
}

// signalOf is a signal; one that must be caught is refused if no process can catch it.
func signalOf(f Field, caught bool, in func(*wire.Submit) *string, to func(*model.Spec) *string) Field {
	f = text(f, 0, in, to)
	f.Kind = "signal"
	f.read = func(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
		name, err := signal(f.Name, *in(r))
		if err == nil && caught && (name == "KILL" || name == "STOP") {
			err = problem.Invalid(f.Name, "must be a signal that the job can catch, such as USR1: no process can catch "+name)
		}
		*to(&c.Spec) = name
		return err
	}
	return f
}

// instantOf is a point in time. Its option has no Set: a time of day depends on the user's clock.
func instantOf(f Field, in func(*wire.Submit) *string, to func(*model.Spec) *model.Time) Field {
	f.Kind = "point in time"
	f.read = func(r *wire.Submit, c *command.Submit, now model.Time) (err error) {
		*to(&c.Spec), err = instant(f.Name, *in(r), now)
		return err
	}
	f.write = func(j *model.Job, r *wire.Submit) {
		if t := *to(&j.Spec); t > 0 {
			*in(r) = t.Time().Format(time.RFC3339Nano)
		}
	}
	return f
}

// setBy adds how the first flag is set, if there is one.
func (f Field) setBy(form FlagForm, set func(*wire.Submit, *FlagValue) error) Field {
	if len(f.Flags) > 0 {
		f.Flags[0].Form, f.Flags[0].Set = form, set
	}
	return f
}

// listed splits a list that is separated by commas.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
