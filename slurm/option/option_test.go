package option_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/option"
)

func set() *option.Set {
	return option.NewSet("prog", []option.Option{
		{Name: "jobs", Short: 'j', Takes: option.TakesValue, Form: "LIST"},
		{Name: "noheader", Short: 'h'},
		{Name: "nodes", Short: 'n', Takes: option.TakesValue, Form: "N"},
		{Name: "nice", Takes: option.TakesOptional, Form: "[N]"},
		{Name: "ntasks-per-node", Others: []string{"tasks-per-node", "tasks-each"}, Takes: option.TakesValue, Form: "N"},
		{Name: "r", Short: 'r'},
		{Name: "F", Short: 'F', Takes: option.TakesValue, Form: "FILE"},
		{Name: "exclusive", Short: 'e', Takes: option.TakesOptional, Form: "[user]"},
	})
}

func show(line option.Line) string {
	var words []string
	for _, g := range line.Given {
		words = append(words, g.Option+"="+g.Value)
	}
	return strings.Join(words, " ") + " | " + strings.Join(line.Words, " ")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":                              " | ",
		"-j12":                          "jobs=12 | ",
		"-j 12":                         "jobs=12 | ",
		"--jobs=12":                     "jobs=12 | ",
		"--jobs 12":                     "jobs=12 | ",
		"--jo=1,2":                      "jobs=1,2 | ",
		"--jobs=a=b":                    "jobs=a=b | ",
		"-hr":                           "noheader= r= | ",
		"-hn4":                          "noheader= nodes=4 | ",
		"-hn 4 -r":                      "noheader= nodes=4 r= | ",
		"1 -h 2 -j3 4":                  "noheader= jobs=3 | 1 2 4",
		"-h -- -j 3":                    "noheader= | -j 3",
		"a -- -- -h":                    " | a -- -h",
		"-j -- 3":                       "jobs=-- | 3",
		"-j -h":                         "jobs=-h | ",
		"--jobs -- --":                  "jobs=-- | ",
		"-":                             " | -",
		"--nice 3":                      "nice= | 3",
		"--nice=3":                      "nice=3 | ",
		"-e -euser":                     "exclusive= exclusive=user | ",
		"--tasks=2 --n=1":               "prog --n", // ambiguous: nice, nodes, noheader, ntasks-per-node
		"--tasks=2":                     "ntasks-per-node=2 | ",
		"--nt 2":                        "ntasks-per-node=2 | ",
		"-F x -j 1 --jobs=2":            "F=x jobs=1 jobs=2 | ",
		"--r":                           "prog --r",
		"--jobs":                        "prog --jobs: the value is missing: write --jobs=LIST",
		"-F":                            "prog -F: the value is missing: write -F FILE",
		"-hj":                           "prog --jobs: the value is missing: write --jobs=LIST",
		"--noheader=1":                  `prog --noheader: the option has no value, and "1" is given: write --noheader alone`,
		"--no":                          "prog --no: the name is ambiguous; it may be --nodes, --noheader",
		"--noder=4":                     "prog --noder: there is no such option of prog; perhaps --nodes is meant",
		"--xyz":                         "prog --xyz: there is no such option of prog; prog --help lists all",
		"-hZ":                           "prog -Z: there is no such option of prog; prog --help lists all",
		"-ü":                            "prog -ü: there is no such option of prog; prog --help lists all",
		"--" + strings.Repeat("x", 999): "prog --" + strings.Repeat("x", 100) + "...: there is no such option of prog; prog --help lists all",
	} {
		line, err := set().Parse(strings.Fields(words))
		got := show(line)
		if err != nil {
			got = "prog " + err.Error()
			if _, is := errors.AsType[*option.Error](err); !is {
				t.Errorf("%s: the error is a %T", words, err)
			}
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want+":") || strings.Contains(want, ":")) {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}

// What follows the first other word is left as it is: it may be a command with options of its own.
func TestLeading(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"-h prog -x --y": "1 prog -x --y", "-h -- -x": "1 -x", "-j 3 -h": "2 ", "": "0 ", "a -- b": "0 a -- b",
	} {
		given, rest, err := set().Leading(strings.Fields(words))
		if got := fmt.Sprint(len(given), " ") + strings.Join(rest, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", words, got, err, want)
		}
	}
}

// Of an option that is given several times Last is the last value, and All are all of them.
func TestSeveral(t *testing.T) {
	t.Parallel()
	line, err := set().Parse([]string{"-j1", "-h", "--jobs", "2"})
	if err != nil {
		t.Fatal(err)
	}
	value, given := line.Last("jobs")
	if value != "2" || !given || fmt.Sprint(line.All("jobs")) != "[1 2]" || !line.Has("noheader") || line.Has("nodes") {
		t.Errorf("%q %t, %v", value, given, line)
	}
}

// No command line makes the parser fail otherwise than by an error, and no word gets lost.
func FuzzParse(f *testing.F) {
	for _, words := range []string{"-j12 x", "-h -- a", "--jobs=1\n-r", "-e -n"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\n")
		line, err := set().Parse(words)
		if err != nil {
			return
		}
		for _, w := range line.Words {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in %q", w, text)
			}
		}
	})
}
