package form

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// again checks that what a parser reads is written so that it reads the same, and that other texts are refused
// with an error of this package.
func again[T any](t *testing.T, text string, parse func(string) (T, error), write func(T) string) {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		if !errors.Is(err, ErrForm) {
			t.Fatalf("%q: %v", text, err)
		}
		return
	}
	w, err := parse(write(v))
	if err != nil || !reflect.DeepEqual(v, w) {
		t.Fatalf("%q is %+v, written as %q, which is %+v, %v", text, v, write(v), w, err)
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		"1-00:30:00", "UNLIMITED", "0:90", "64G", "1024K", "2-4", "1k", "gpu:a100:4(S:0-1),nvme:8", "a100_3g.20gb:2", "B:USR1@240", "[0-4]%2", "0-10:2,15",
		"12_[1-4]", "12.batch", "12+0", "afterok:1:2?after:3+5", "singleton", "[a*2&b]", "a&(b|c)", "!x|y=z", "now+1hour", "16:00 tomorrow", "040126", "4:00 pm",
	} {
		f.Add(seed)
	}
	now := time.Date(2026, 3, 14, 15, 30, 20, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		again(t, text, ParseGPUs, GPUs.String)
		again(t, text, ParseWarning, Warning.String)
		again(t, text, ParseJob, JobRef.String)
		again(t, text, ParseDependency, Dependency.String)
		again(t, text, ParseConstraint, Constraint.String)
		again(t, text, ParseMemory, FormatMemory)
		for _, parse := range []func(string) error{
			func(s string) error { _, err := ParseGres(s); return err },
			func(s string) error { _, err := ParseNodes(s); return err },
			func(s string) error { _, err := ParseMoment(s, now); return err },
			func(s string) error { _, err := ParsePast(s, now); return err },
			func(s string) error { _, err := ParseJobs(s); return err },
		} {
			if err := parse(text); err != nil && !errors.Is(err, ErrForm) {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if d, err := ParseSpan(text); err == nil && d >= 24*time.Hour {
			if e, err := ParseSpan(FormatSpan(d)); err != nil || e != d {
				t.Fatalf("%q is %v, written as %q, which is %v, %v", text, d, FormatSpan(d), e, err)
			}
		}
		if a, err := ParseArray(text); err == nil {
			b, err := ParseArray(a.Berth())
			if err != nil || !reflect.DeepEqual(a.Indices, b.Indices) {
				t.Fatalf("%q is %v, written as %q, which is %v, %v", text, a, a.Berth(), b, err)
			}
		}
		if c, err := ParseConstraint(text); err == nil {
			if list, err := c.Alternatives(); err == nil && len(list) == 0 {
				t.Fatalf("%q has no alternative", text)
			}
		}
	})
}
