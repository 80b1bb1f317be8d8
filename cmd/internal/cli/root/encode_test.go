package root

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Text that no request can carry is refused with its place, in every word of a command line.
func TestTextThatIsNotUTF8IsRefused(t *testing.T) {
	f := newFakeAPI(t)
	script := filepath.Join(t.TempDir(), "a.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nls caf\xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LATIN", "caf\xe9")
	for _, v := range []struct {
		args []string
		says string
	}{
		{[]string{"submit", "--", "ls", "caf\xe9"}, "argument 2 is not valid UTF-8: byte 4 is 0xe9"},
		{[]string{"submit", "-D", "/caf\xe9", "--", "ls"}, "--workdir is not valid UTF-8: byte 5 is 0xe9"},
		{[]string{"submit", "-e", "A=caf\xe9", "--", "ls"}, "--env is not valid UTF-8: byte 6 is 0xe9"},
		{[]string{"submit", "-e", "LATIN", "--", "ls"}, "--env LATIN: this shell's value is not valid UTF-8: byte 4"},
		{[]string{"submit", "-J", "\xff", "--", "ls"}, "--name is not valid UTF-8: byte 1 is 0xff"},
		{[]string{"submit", "-A", "\xed\xa0\x80", "--", "ls"}, "--project is not valid UTF-8"},
		{[]string{"submit", "--param", "a=1,\xe9", "--", "ls"}, "--param is not valid UTF-8"},
		{[]string{"submit", script}, "byte 7 of line 2 is 0xe9"},
		{[]string{"run", "--", "ls", "caf\xe9"}, "argument 2 is not valid UTF-8"},
		{[]string{"cancel", "--reason", "\xe9", "1"}, "--reason is not valid UTF-8"},
		{[]string{"node", "label", "n1", "a=\xe9"}, "argument 2 is not valid UTF-8"},
		{[]string{"queue", "--user", "\xe9"}, "--user is not valid UTF-8"},
		{[]string{"events", "--type", "failed,\xe9"}, "--type is not valid UTF-8"},
	} {
		if code, out, errs := f.berth(t, v.args...); code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, v.says) {
			t.Errorf("%q: exit code %d, %s%s\nwant %s", v.args, code, out, errs, v.says)
		}
	}
	if f.got.Args != nil || f.got.Script != "" {
		t.Errorf("%+v was submitted", f.got)
	}
	words := []string{"ls", "訓練 \uFFFD", "a'b\"$c`\\\n,"}
	if code, _, errs := f.berth(t, append([]string{"submit", "--"}, words...)...); code != 0 || strings.Join(f.got.Args, "|") != strings.Join(words, "|") {
		t.Errorf("exit code %d, %s, sent %q", code, errs, f.got.Args)
	}
}

// What a shell could not run as a script is refused at submission.
func TestScriptsThatCannotRunAreRefused(t *testing.T) {
	f := newFakeAPI(t)
	for text, says := range map[string]string{
		"#!/bin/bash\r\necho hi\r\n": "has DOS line ends",
		"\x7fELF\x02\x01\x01":        "is a compiled program",
		"echo a\x00b\n":              "has a NUL byte in line 1",
	} {
		script := filepath.Join(t.TempDir(), "train.sh")
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := f.berth(t, "submit", script); code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, "train.sh "+says) {
			t.Errorf("%q: exit code %d, %s%s", text, code, out, errs)
		}
	}
}

// An empty value of any flag of any command is refused, but for those in which it has a meaning.
func TestEmptyValuesAreRefused(t *testing.T) {
	t.Setenv("BERTH_ADDRESS", "127.0.0.1:1")
	may := map[string]bool{"reason": true, "note": true}
	eachCommand(whole(t), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || f.Value.Set("") != nil {
				return // the value itself is refused
			}
			if err := cli.CheckFlag(f); (err == nil) != may[f.Name] {
				t.Errorf("%s --%s '': %v", cmd.CommandPath(), f.Name, err)
			}
		})
	})
	for _, line := range []string{
		"submit -w  -- x", "submit -t  -- x", "submit --idempotency-key  -- x", "submit -D  -- x", "submit -x  -- x", "submit -C  -- x",
		"queue -u ", "queue -s ", "tasks -s  17", "history --state ", "history --state failed,", "events --type ", "usage -u ",
		"allocations --service ", "cancel --name ", "webhook add --user  http://x", "webhook settings --allow ",
	} {
		code, out, errs := called(strings.Split(line, " ")...)
		if code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, "is empty: leave it out, or check whether a shell variable is unset") {
			t.Errorf("berth %s: exit code %d, %s%s", line, code, out, errs)
		}
	}
}
