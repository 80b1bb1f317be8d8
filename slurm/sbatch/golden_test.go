package sbatch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/slurm/form"
)

// update writes the expected results again.
var update = flag.Bool("update", false, "write the files *.want again")

// noon is the time of all submissions of the tests.
func noon() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) }

// TestScripts reads each script of testdata and compares what it means with the file *.want next to it. Lines
// "#: args" and "#: env" of a script give the command line and the variables of the submission.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil || len(files) < 60 {
		t.Fatalf("there are %d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sh"), func(t *testing.T) {
			t.Parallel()
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := meaning(file, script)
			golden := strings.TrimSuffix(file, ".sh") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; write it with -update, and read it", err)
			}
			if got != string(want) {
				t.Errorf("%s means\n%s\nwant\n%s", file, got, want)
			}
		})
	}
}

// meaning returns all that is understood of a script, as text.
func meaning(file string, script []byte) string {
	var args []string
	vars := map[string]string{}
	for line := range strings.SplitSeq(string(script), "\n") {
		if rest, found := strings.CutPrefix(line, "#: args "); found {
			args, _, _ = split(rest)
		}
		if rest, found := strings.CutPrefix(line, "#: env "); found {
			name, value, _ := strings.Cut(rest, "=")
			vars[name] = value
		}
	}
	command, err := ParseCommand(args)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if !command.Wrap && command.Script == "" {
		command.Script = file
	}
	job, err := Parse(Input{
		Command: command, Script: script, Now: noon(),
		Env: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, g := range job.Given {
		fmt.Fprintf(&b, "given: --%s %q by %s\n", g.Option, g.Value, g.Where)
	}
	for _, n := range job.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if len(job.Arguments) > 0 {
		fmt.Fprintf(&b, "arguments: %q\n", job.Arguments)
	}
	write(&b, "option ", "", reflect.ValueOf(job.Options))
	l, err := job.Layout()
	if err != nil {
		return b.String() + "error of the layout: " + err.Error() + "\n"
	}
	write(&b, "layout ", "", reflect.ValueOf(l))
	return b.String()
}

// write writes the fields of a struct that are not zero.
func write(b *strings.Builder, mark, name string, v reflect.Value) {
	if v.IsZero() {
		return
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		fmt.Fprintf(b, "%s%s: %s\n", mark, name, form.FormatSpan(x))
	case time.Time:
		fmt.Fprintf(b, "%s%s: %s\n", mark, name, x.Format(time.RFC3339))
	case fmt.Stringer:
		fmt.Fprintf(b, "%s%s: %s\n", mark, name, x)
	default:
		if v.Kind() != reflect.Struct {
			fmt.Fprintf(b, "%s%s: %+v\n", mark, name, x)
			return
		}
		for i := range v.NumField() {
			write(b, mark, strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), v.Field(i))
		}
	}
}
