package form

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestConstraint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{ // the tree, Berth's constraint, the alternatives
		"a100":            {"a100", "a100", "[[a100]]"},
		"a&b":             {"a&b", "a,b", "[[a b]]"},
		"a,b":             {"a&b", "a,b", "[[a b]]"},
		"a & b&c":         {"a&b&c", "a,b,c", "[[a b c]]"},
		"a|b":             {"a|b", "", "[[a] [b]]"},
		"[a|b]":           {"[a|b]", "", "[[a] [b]]"},
		"a&(b|c)":         {"a&(b|c)", "", "[[a b] [a c]]"},
		"a|b&c":           {"(a|b)&c", "", "[[a c] [b c]]"},
		"a&b|c":           {"(a&b)|c", "", "[[a b] [c]]"},
		"a*2":             {"a*2", "", ""},
		"[a*2&b*4]":       {"[a*2&b*4]", "", ""},
		"[a]":             {"a", "a", "[[a]]"},
		"((a))":           {"a", "a", "[[a]]"},
		"zone=b&!spot":    {"zone=b&!spot", "zone=b,!spot", "[[zone=b !spot]]"},
		"[a|b]&gpu":       {"[a|b]&gpu", "", "[[a gpu] [b gpu]]"},
		"[rack1*2]":       {"[rack1*2]", "", ""},
		"(a|b)&(c|d)":     {"(a|b)&(c|d)", "", "[[a c] [a d] [b c] [b d]]"},
		"gpu-80gb&nvme.2": {"gpu-80gb&nvme.2", "gpu-80gb,nvme.2", "[[gpu-80gb nvme.2]]"},
	} {
		c, err := ParseConstraint(text)
		if err != nil || c.String() != want[0] {
			t.Errorf("%q is %q, %v; want %q", text, c, err, want[0])
			continue
		}
		ours, err := c.Berth()
		if ours != want[1] || (err == nil) != (want[1] != "") {
			t.Errorf("%q is Berth's %q, %v; want %q", text, ours, err, want[1])
		}
		if _, err := model.ParseConstraint(ours); err != nil {
			t.Errorf("Berth does not read %q: %v", ours, err)
		}
		all, err := c.Alternatives()
		if want[2] == "" && err == nil || want[2] != "" && fmt.Sprint(all) != want[2] {
			t.Errorf("%q has the alternatives %v, %v; want %s", text, all, err, want[2])
		}
	}
}

func TestConstraintErrors(t *testing.T) {
	t.Parallel()
	const end = "; write features such as a100, a&b, a|b or [a|b]"
	refused(t, ParseConstraint, map[string]string{
		"":     `"" is no constraint: the text ends where a feature is expected` + end,
		"a&":   `"a&" is no constraint: the text ends where a feature is expected` + end,
		"a||b": `"a||b" is no constraint: the text has "|" where a feature is expected` + end,
		"(a":   `"(a" is no constraint: the text has no ")" where one is expected` + end,
		"[a|b": `"[a|b" is no constraint: the text has no "]" where one is expected` + end,
		"a b":  `"a b" is no constraint: the text has "b" where & or | is expected` + end,
		"a*":   `"a*" is no constraint: the text has no number of nodes after *` + end,
		"a*0":  `"a*0" is no constraint: the text has no number of nodes after *` + end,
		"a)":   `"a)" is no constraint: the text has ")" where & or | is expected` + end,
	})
	berth := func(text string) (string, error) {
		c, err := ParseConstraint(text)
		if err != nil {
			return "", err
		}
		return c.Berth()
	}
	refused(t, berth, map[string]string{
		"a|b": `"a|b" allows several kinds of nodes, and a constraint of Berth has one: choose one of them, or, where they stand for models of GPUs, ` +
			`write --gres=gpu:MODEL:N`,
		"a*2":       `"a*2" asks for a feature on some of the nodes; Berth's constraints hold for all nodes of a job: leave out the * and its number`,
		"[a*2&b*1]": `"[a*2&b*1]" asks for numbers of nodes with different features; Berth's constraints hold for all nodes of a job: submit a job for each kind`,
	})
}
