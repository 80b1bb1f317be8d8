package srun

import (
	"slices"
	"testing"
)

// The words are those of srun 22.05.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		text  string
		tasks int
		want  [][]string
		wrong string
	}{
		{"0 echo zero %t %o\n1-3 echo rest %t %o %%t a%tb\n", 4, [][]string{
			{"echo", "zero", "0", "0"}, {"echo", "rest", "1", "0", "t", "a1b"}, {"echo", "rest", "2", "1", "t", "a2b"}, {"echo", "rest", "3", "2", "t", "a3b"},
		}, ""},
		{"# c\n\n   # more\n0,2 echo a %o\n\t1,3\techo 'q  %o'\\ x \\\\ e\\'f\n", 4, [][]string{
			{"echo", "a", "0"}, {"echo", `q  %o x`, `\`, "e'f"}, {"echo", "a", "1"}, {"echo", `q  %o x`, `\`, "e'f"},
		}, ""},
		{"2,0-1 echo %t %o", 3, [][]string{{"echo", "0", "1"}, {"echo", "1", "2"}, {"echo", "2", "0"}}, ""},
		{"0 echo cont\\\ninued \\\n  \"x  y\"\n* e\\cho a'b c'd '' %o", 2, [][]string{{"echo", "continued", "", `"x`, `y"`}, {"echo", "ab cd", "", "1"}}, ""},
		{"0 printf a%xb % c%\n1 '%t' x", 2, [][]string{{"printf", "ab", "c"}, {"%t", "x"}}, ""},
		{"0 echo 'open", 1, [][]string{nil}, ""},
		{"0,1, echo trailing", 2, [][]string{{"echo", "trailing"}, {"echo", "trailing"}}, ""},
		{"0 echo a\n2 echo b", 3, nil, "Configuration file f invalid, no record for task id 1"},
		{"", 1, nil, "Configuration file f invalid, no record for task id 0"},
		{"0-1 echo a\n1-2 echo b", 3, nil, "Duplicate record for task 1\nLine 2 of configuration file f invalid"},
		{"0-1 echo a\n1-2 echo b", 2, nil, "Invalid task id, 2 >= ntasks\nLine 2 of configuration file f invalid"},
		{"0-9 echo big", 2, nil, "Invalid task id, 9 >= ntasks\nLine 1 of configuration file f invalid"},
		{"0", 1, nil, "Line 1 of configuration file f invalid"},
		{"x echo", 1, nil, "Invalid task range specification (x)\nLine 1 of configuration file f invalid"},
		{"* echo star\n0 echo zero", 2, nil, "Task range specification with asterisk must be last\nLine 2 of configuration file f invalid"},
		{"2-0 echo x\n* echo y", 3, nil, "Invalid task range, 2-0\nLine 1 of configuration file f invalid"},
		{"-1 echo x", 3, nil, "Invalid task id, -1 < 0\nLine 1 of configuration file f invalid"},
		{"0-99999999999 echo x", 3, nil, "Invalid task range specification (0-99999999999)\nLine 1 of configuration file f invalid"},
		{"0-2000000000 echo x", 3, nil, "Invalid task id, 2000000000 >= ntasks\nLine 1 of configuration file f invalid"},
	} {
		all, err := ParsePrograms("f", v.text, v.tasks)
		if got := ""; err != nil || v.wrong != "" {
			if err != nil {
				got = err.Error()
			}
			if got != v.wrong {
				t.Errorf("%q: %q, want %q", v.text, got, v.wrong)
			}
			continue
		}
		for rank, want := range v.want {
			if got := Arguments(all, rank); !slices.Equal(got, want) {
				t.Errorf("%q: task %d runs %q, want %q", v.text, rank, got, want)
			}
		}
	}
}
