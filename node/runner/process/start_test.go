package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// A program that cannot be started ends like in a shell, and the reason is in the output.
func TestWhatCannotBeStarted(t *testing.T) {
	b := newBench(t)
	place := t.TempDir()
	program := func(path string) func(*runner.Record) {
		return func(r *runner.Record) { r.Job.Spec.Argv, r.Job.Spec.Command = true, path+"\x00a" }
	}
	for name, text := range map[string]string{"plain": "true\n", "odd": "#!/does/not/exist\n"} {
		if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(place, "odd"), 0o700); err != nil {
		t.Fatal(err)
	}
	lost, cut := hanging(t, place)
	cut()
	closed := func(r *runner.Record) { r.Job.Spec.WorkDir = lost }
	for name, v := range map[string]struct {
		change func(*runner.Record)
		code   int32
		says   string
	}{
		"a lost folder":   {closed, isolate.NotExecuted, "not connected"},
		"a lost program":  {program(lost + "/a"), isolate.NotExecuted, "not connected"},
		"a path of files": {func(r *runner.Record) { r.Job.Spec.WorkDir = place + "/plain" }, isolate.NotExecuted, "not a directory"},
		"no such folder":  {func(r *runner.Record) { r.Job.Spec.WorkDir = "/does/not/exist" }, isolate.NotFound, "there is no folder /does/not/exist on this node"},
		"no such program": {program("does-not-exist"), isolate.NotFound, "there is no program does-not-exist in any folder of PATH"},
		"no such path":    {program("./a.py"), isolate.NotFound, "/a.py on this node (the job starts in "},
		"no interpreter":  {program(place + "/odd"), isolate.NotFound, "the interpreter that its first line names is not on this node"},
		"not executable":  {program(place + "/plain"), isolate.NotExecuted, "is not executable for the job: chmod +x"},
		"a folder":        {program(place), isolate.NotExecuted, "is a folder, not a program"},
	} {
		k := b.rank("true", v.change).start()
		if got := k.exit(); got.Code != v.code || got.Signal != 0 || got.Refused {
			t.Errorf("%s: ended with %+v", name, got)
		}
		if said := k.output(runner.StderrFile); !strings.Contains(said, "cannot be started") || !strings.Contains(said, v.says) {
			t.Errorf("%s: said %q", name, said)
		}
	}
}

// A job reads what it was submitted with from standard input, byte by byte, and else nothing.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, v := range []struct {
		given bool
		want  string
	}{{true, "3\na\x00\xff"}, {false, "0\n"}} {
		k := b.rank("wc -c < /dev/stdin; cat", func(r *runner.Record) { r.Job.Stdin = v.given })
		if v.given {
			if err := os.WriteFile(filepath.Join(k.f.Path(), runner.StdinFile), []byte("a\x00\xff"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		k.start().exit()
		if out := k.output(runner.StdoutFile); out != v.want {
			t.Errorf("%t: %q, want %q; stderr: %s", v.given, out, v.want, k.output(runner.StderrFile))
		}
	}
}
