package model_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestLabels(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"zone=b,rack=1":           "rack=1,zone=b",
		"zone=a,zone=b":           "zone=b",
		"spot,zone-":              "spot,zone-",
		"spot=":                   "spot",
		"topology/block=b-7:3":    "topology/block=b-7:3",
		"zone=-":                  "zone=-",
		"=a":                      "!",
		"-":                       "!",
		"a b=c":                   "!",
		"zone=a,":                 "!",
		".zone=a":                 "!",
		"zone=" + long('a', 63):   "zone=" + long('a', 63),
		"zone=" + long('a', 64):   "!",
		long('a', 64):             "!",
		"k=" + long('v', 4<<10):   "!",
		"a=" + long('ä', 2):       "!",
		sequence(65, "k%d", ","):  "!",
		sequence(3, "k%d=1", ","): "k0=1,k1=1,k2=1",
	} {
		l, err := model.ParseLabels(text)
		got := l.String()
		if err != nil {
			got = "!"
		}
		if got != want || err != nil && !errors.Is(err, model.ErrLabels) {
			t.Errorf("%q is read as %q (%v), want %q", text, got, err, want)
		}
	}
}

// An operator's labels override the agent's.
func TestLabelsOfANode(t *testing.T) {
	n := model.Node{Labels: "rack=1,spot,zone=a", Marks: "gen=h,spot-,zone=b"}
	if got := n.Is().String(); got != "gen=h,rack=1,zone=b" {
		t.Errorf("it has %s", got)
	}
}

func TestConstraint(t *testing.T) {
	labels := model.Labels{{Key: "rack", Value: "1"}, {Key: "spot", Gone: true}, {Key: "ssd"}, {Key: "zone", Value: "a"}}
	for text, want := range map[string]struct {
		text  string // as it is written; "!": it is refused
		meets bool
		least string
	}{
		"":                           {"", true, ""},
		"zone=a":                     {"zone=a", true, "zone=a"},
		"zone=b":                     {"zone=b", false, "zone=b"},
		"zone!=b":                    {"zone!=b", true, ""},
		"zone!=a":                    {"zone!=a", false, ""},
		"other!=a":                   {"other!=a", true, ""},
		"zone":                       {"zone", true, "zone"},
		"other":                      {"other", false, "other"},
		"!other":                     {"!other", true, ""},
		"!zone":                      {"!zone", false, ""},
		"spot":                       {"spot", false, "spot"},
		"!spot":                      {"!spot", true, ""},
		"zone=a,rack=2":              {"rack=2,zone=a", false, "rack=2,zone=a"},
		"zone=a & rack=1,zone=a":     {"rack=1,zone=a", true, "rack=1,zone=a"},
		"ssd,ssd=":                   {"ssd,ssd=", true, "ssd"},
		"zone,zone=a,!spot,rack!=7":  {"!spot,rack!=7,zone,zone=a", true, "zone=a"},
		"zone=a,":                    {"!", false, ""},
		"!":                          {"!", false, ""},
		"zone==a":                    {"!", false, ""},
		"zone in (a)":                {"!", false, ""},
		"zone=" + long('a', 2000):    {"!", false, ""},
		sequence(33, "k%d", ","):     {"!", false, ""},
		"zone=a|zone=b":              {"!", false, ""},
		"!zone=a":                    {"!", false, ""},
		"topology/block=7,zone!=b-1": {"topology/block=7,zone!=b-1", false, "topology/block=7"},
	} {
		c, err := model.ParseConstraint(text)
		got := c.String()
		if err != nil {
			got = "!"
		}
		if got != want.text || err != nil && !errors.Is(err, model.ErrConstraint) {
			t.Errorf("%q is read as %q (%v), want %q", text, got, err, want.text)
		} else if err == nil && (c.Meets(labels) != want.meets || c.Least().String() != want.least) {
			t.Errorf("%q: met %t, at least %q; want %t, %q", text, c.Meets(labels), c.Least(), want.meets, want.least)
		}
	}
}

func TestNodes(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"n2,n1,n2":                "n1,n2",
		"gpu[08-11]":              "gpu08,gpu09,gpu10,gpu11",
		"a[1,3-4]b, c":            "a1b,a3b,a4b,c",
		"n[1":                     "!",
		"n]1":                     "!",
		"n[2-1]":                  "!",
		"n[1-999999999]":          "!",
		"n[x]":                    "!",
		"n[1][2]":                 "!",
		"n1,,n2":                  "!",
		"n1,":                     "!",
		",n1":                     "!",
		"n[1-2],":                 "!",
		"a b":                     "!",
		sequence(257, "n%d", ","): "!",
		long('n', 129):            "!",
	} {
		list, err := model.ParseNodes(text)
		got := strings.Join(list, ",")
		if err != nil {
			got = "!"
		}
		if got != want || err != nil && !errors.Is(err, model.ErrNodes) {
			t.Errorf("%q is read as %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestWhere(t *testing.T) {
	n := model.Node{ID: "n2", Labels: "zone=a"}
	for w, want := range map[model.Where]bool{
		{}:                                    true,
		{Nodelist: "n1,n2"}:                   true,
		{Nodelist: "n1"}:                      false,
		{Exclude: "n1"}:                       true,
		{Exclude: "n1,n2"}:                    false,
		{Constraint: "zone=a"}:                true,
		{Constraint: "zone=a", Exclude: "n2"}: false,
		{Constraint: "zone=b"}:                false,
	} {
		if got := w.Sites().Has(&n); got != want {
			t.Errorf("%+v has it: %t", w, got)
		}
		if err := w.Validate(); err != nil {
			t.Errorf("%+v: %v", w, err)
		}
	}
	for _, w := range []model.Where{{Constraint: "b,a"}, {Nodelist: "n2,n1"}, {Nodelist: "n[1-2]"}, {Exclude: "n1,n1"}} {
		if w.Validate() == nil {
			t.Errorf("%+v is taken as it is", w)
		}
	}
	w := model.Where{Constraint: "!spot,zone=a", Nodelist: "n1,n2", Exclude: "n3"}
	if got := w.String(); got != "with !spot and zone=a, named n1 or n2, other than n3" {
		t.Errorf("in words: %s", got)
	}
}

func TestModels(t *testing.T) {
	for _, v := range []struct {
		asked, name string
		is          bool
	}{
		{"", "H100", true},
		{"H100", "H100", true},
		{"H100", "H10", false},
		{"A100|H100", "H100", true},
		{"A100|H100", "H200", false},
		{"A100|H100", "", false},
		{"NVIDIA A100-SXM4-40GB|NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", true},
		{"h100", "NVIDIA H100 80GB HBM3", true},
		{"h100 80gb", "NVIDIA H100 80GB HBM3", true},
		{"80GB, h100", "NVIDIA H100 80GB HBM3", true},
		{"nvidia_h100_80gb_hbm3", "NVIDIA H100 80GB HBM3", true},
		{"a100|h100", "NVIDIA H100 80GB HBM3", true},
		{"a100 80gb", "NVIDIA A100-SXM4-80GB", true},
		{"h100 40gb", "NVIDIA H100 80GB HBM3", false},
		{"h100 h100 nvl", "NVIDIA H100 80GB HBM3", false},
		{"NVIDIA H100 80GB HBM3", "NVIDIA H100", false},
		{"a10", "NVIDIA A100-SXM4-40GB", false},
		{"a100", "NVIDIA A10", false},
		{"h10", "H100", false},
		{"100", "H100", false},
		{"h100", "NVIDIA GH200 480GB", false},
		{"-", "H100", false},
		{"-", "-", true},
		{"|", "", false},
		{"H100", "", false},
		{"h100", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", false},
		{"1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", false},
		{"h100 mig", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", true},
		{"mig 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", true},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", true},
		{"mig", "NVIDIA H100 80GB HBM3", false},
		{"karte", "Große KARTE", true},
		{"GROßE", "Große Karte", true},
		{"\xff\xfe", "H100", false},
	} {
		if model.OfModel(v.asked, v.name) != v.is {
			t.Errorf("%q asked, %q: not %t", v.asked, v.name, v.is)
		}
	}
	for text, want := range map[string]string{"H100|A100": "A100|H100", "A| B |A|": "A|B", "|": "", "H 1": "H 1"} {
		if got := model.SortModels(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Whatever is read is written in one way, which is read as the same.
func FuzzWhere(f *testing.F) {
	for _, text := range []string{"zone=a,!spot", "a!=b&c", "n[1-3],m", "zone-,a=b", "k=", "[", "a,,b", "A100|H100"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := model.ParseConstraint(text); err == nil {
			again, err := model.ParseConstraint(c.String())
			if err != nil || !slices.Equal(again, c) {
				t.Errorf("%q is %q, which is %q (%v)", text, c, again, err)
			}
			if l := c.Least(); c.Meets(l) {
				if again, err := model.ParseLabels(l.String()); err != nil || !slices.Equal(again, l) {
					t.Errorf("%q needs %q, which is %q (%v)", text, l, again, err)
				}
			}
		}
		if l, err := model.ParseLabels(text); err == nil {
			if again, err := model.ParseLabels(l.String()); err != nil || !slices.Equal(again, l) {
				t.Errorf("%q is %q, which is %q (%v)", text, l, again, err)
			}
		}
		if list, err := model.ParseNodes(text); err == nil {
			w := model.Where{Nodelist: strings.Join(list, ",")}
			if err := w.Validate(); err != nil {
				t.Errorf("%q is %q: %v", text, w.Nodelist, err)
			}
		}
	})
}

func long(r rune, n int) string { return strings.Repeat(string(r), n) }

// sequence returns n texts with their numbers.
func sequence(n int, format, between string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "%d", strconv.Itoa(i))
	}
	return strings.Join(parts, between)
}
