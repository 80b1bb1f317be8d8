package sched_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the cases in testdata/cases print into them")

// TestCases plays the scenes in testdata/cases. A line is a command: to the cluster,
// as its users, operators and agents give them, or to the scheduler. What the
// scheduler answers stands below in lines that begin with ">". Lines that begin with
// "#" tell what the scene is about. testdata/cases/README.md lists the commands.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newScene(t).play(string(was))
			switch {
			case got == string(was):
			case *update:
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("%s plays otherwise:\n%s", file, difference(string(was), got))
			}
		})
	}
}

// difference is the first line in which two texts differ, with the command above it.
func difference(request, got string) string {
	w, g := strings.Split(request, "\n"), strings.Split(got, "\n")
	var b bytes.Buffer
	command := ""
	for i := range max(len(w), len(g)) {
		x, y := lineOf(w, i), lineOf(g, i)
		if x != y {
			b.WriteString(command + "\nwant " + x + "\ngot  " + y)
			break
		}
		if !strings.HasPrefix(x, ">") {
			command = x
		}
	}
	return b.String()
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// play carries out the commands of a text and is the text with the answers that
// they gave.
func (s *scene) play(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		do, known := verbs()[words[0]]
		if !known {
			s.T.Fatalf("%q: there is no command %q", line, words[0])
		}
		s.line = line
		for _, answer := range do(s, parse(words[1:])) {
			out.WriteString("> " + answer + "\n")
		}
	}
	return out.String()
}

// words are what follows a command: names first, then key=value.
type words struct {
	names []string
	named map[string]string
}

func parse(in []string) words {
	w := words{named: map[string]string{}}
	for _, word := range in {
		if key, value, is := strings.Cut(word, "="); is {
			w.named[key] = value
		} else {
			w.names = append(w.names, word)
		}
	}
	return w
}
