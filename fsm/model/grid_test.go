package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestIndices(t *testing.T) {
	for text, want := range map[string]struct {
		again string
		count int
	}{
		"0-99":              {"0-99", 100},
		"0-99:10":           {"0-90:10", 10},
		"3,7,9-12":          {"3,7,9-12", 6},
		" 12, 9-11 ,7,3":    {"3,7,9-12", 6},
		"5":                 {"5", 1},
		"5-5":               {"5", 1},
		"1,3":               {"1,3", 2},
		"1,3,5":             {"1-5:2", 3},
		"4-6,5-8":           {"4-8", 5},
		"999999":            {"999999", 1},
		"0-999999:100":      {"0-999900:100", 10_000},
		"1,2,4,6,8,9":       {"1-2,4-8:2,9", 6},
		"0-4,10-14,100-104": {"0-4,10-14,100-104", 15},
	} {
		x, err := ParseIndices(text)
		if err != nil || x.String() != want.again || len(x) != want.count {
			t.Errorf("%q is %q with %d numbers (%v), want %q with %d", text, x, len(x), err, want.again, want.count)
			continue
		}
		if y, err := ParseIndices(x.String()); err != nil || !slices.Equal(x, y) {
			t.Errorf("%q is read back as %v (%v)", x, y, err)
		}
		if !x.Has(x[0]) || !x.Has(x[len(x)-1]) || x.Has(x[len(x)-1]+1) {
			t.Errorf("%q does not know what it has", x)
		}
	}
	for _, text := range []string{
		"", ",", "a", "1-", "-1", "3-1", "1-9:0", "5:2", "1--2", "0-10000", "0-999999", "1000000", "4294967296", "0x3", "+1",
		"1-2-3", "0-5000,0-5000", strings.Repeat("1,", 3000) + "1", "１",
	} {
		if x, err := ParseIndices(text); !errors.Is(err, ErrIndices) {
			t.Errorf("%q was read as %v (%v)", text, x, err)
		}
	}
}

func texts(list []Param) (out []string) {
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// The last parameter changes fastest.
func TestSweep(t *testing.T) {
	s, err := ParseSweep("lr=1e-3,1e-4\nseed=1..3\nmode=a")
	if err != nil || s.Len() != 6 {
		t.Fatalf("a grid of %d tasks (%v)", s.Len(), err)
	}
	for n, want := range []string{
		"lr=1e-3 seed=1 mode=a", "lr=1e-3 seed=2 mode=a", "lr=1e-3 seed=3 mode=a",
		"lr=1e-4 seed=1 mode=a", "lr=1e-4 seed=2 mode=a", "lr=1e-4 seed=3 mode=a",
	} {
		if got := strings.Join(texts(s.At(uint32(n))), " "); got != want {
			t.Errorf("task %d has %s, want %s", n, got, want)
		}
	}
	if s.At(6) != nil || s.At(1<<31) != nil {
		t.Error("there is no seventh task")
	}
}

func TestSweepValues(t *testing.T) {
	for text, want := range map[string][]string{
		`x=a\,b,c`:      {"a,b", "c"},
		`x=1\..5`:       {"1..5"},
		`x=C:\\dir`:     {`C:\dir`},
		`x=,--fast`:     {"", "--fast"},
		`x=0..10:5,7`:   {"0", "5", "10", "7"},
		`x=-2..1`:       {"-2", "-1", "0", "1"},
		`x=5..1`:        {"5..1"},
		`x=0.1..0.5`:    {"0.1..0.5"},
		`x=a=b`:         {"a=b"},
		`x=ü,1..99999x`: {"ü", "1..99999x"},
		`x=tail\`:       {`tail\`},
	} {
		s, err := ParseSweep(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for n := range s.Len() {
			got = append(got, s.At(n)[0].Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the values %q, want %q", text, got, want)
		}
	}
}

func TestBadSweeps(t *testing.T) {
	for _, text := range []string{
		"", "x", "x=", "=1", "1x=1", "x y=1", "x-y=1", "x=1\nx=2", "x=1\n", "x=\x00", "x=1\ty", "x=0..10000",
		"x=1..101\ny=1..100", "x=0..2000000000", strings.Repeat("n", 65) + "=1", "x=" + strings.Repeat("1", MaxSweep),
	} {
		if s, err := ParseSweep(text); err == nil {
			t.Errorf("%q was read as a grid of %d tasks", text, s.Len())
		}
	}
}

// A readable value that was hardly meant is reported, with the way to write it if it was.
func TestCheckSweep(t *testing.T) {
	for text, want := range map[string]string{
		"x=5..2":           `x=5..2 is none; as text it is written 5\..2`,
		"x=0..1:0":         "x=0..1:0 is none",
		"x=1..3:-1":        "x=1..3:-1 is none",
		"x=1..99999999999": "x=1..99999999999 is none",
		"x=0.1..0.3":       "x=0.1..0.3 is none",
		"x=a,1..y":         "x=1..y is none",
		"y=1\nx=1,,2":      "x has one; give it a name",
		"x=,--fast":        "x has one",
		"x=1,1":            "x is given 1 twice",
		"x=1..3,2":         "x is given 2 twice",
		`x=a,\a`:           "x is given a twice",
		"x":                "NAME=VALUE",

		`x=5\..2`: "", "x=../data,../more": "", "x=v1..v2": "", "x=1..3,5..9:2": "", "x=1,1.0\ny=1": "", `x=a\,b`: "",
	} {
		switch err := CheckSweep(text); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestValidGrids(t *testing.T) {
	for name, v := range map[string]struct {
		change func(*Spec)
		field  string // at fault; empty: none
	}{
		"an array":          {func(s *Spec) { s.Array = "0-9,20" }, ""},
		"not the one form":  {func(s *Spec) { s.Array = "20,0-9" }, "array_indices"},
		"no numbers":        {func(s *Spec) { s.Array = "x" }, "array_indices"},
		"a sweep":           {func(s *Spec) { s.Array, s.Sweep = "0-2", "a=1..3" }, ""},
		"another size":      {func(s *Spec) { s.Array, s.Sweep = "0-3", "a=1..3" }, "array_indices"},
		"a bad sweep":       {func(s *Spec) { s.Array, s.Sweep = "0", "a" }, "params"},
		"dates":             {func(s *Spec) { s.Begin, s.Deadline = 5, 6 }, ""},
		"too late a begin":  {func(s *Spec) { s.Begin, s.Deadline = 6, 6 }, "deadline"},
		"a negative begin":  {func(s *Spec) { s.Begin = -1 }, "begin"},
		"a deadline before": {func(s *Spec) { s.Deadline = -1 }, "deadline"},
	} {
		s := Spec{
			User: "ann", Class: ClassNormal, Command: "x", GPUs: 1, OnLost: OnLostHold, DisconnectGrace: DefaultDisconnectGrace,
		}
		v.change(&s)
		err := s.Validate()
		if p, is := errors.AsType[*Problem](err); (err == nil) != (v.field == "") || is && p.Field != v.field {
			t.Errorf("%s: %v, want a problem with %q", name, err, v.field)
		}
	}
}
