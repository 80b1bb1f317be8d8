package images

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/image/store"
)

// called carries out a command line on a folder of images.
func called(t *testing.T, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	root := cli.NewRoot("berth", "")
	root.AddCommand(New())
	root.SetContext(t.Context())
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"image", "--folder", folder}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		return cli.Fail(err, &errs), out.String(), errs.String()
	}
	return 0, out.String(), errs.String()
}

func TestFetchOfAFolder(t *testing.T) {
	t.Parallel()
	folder, root := filepath.Join(t.TempDir(), "images"), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "etc"), 0o700), os.WriteFile(filepath.Join(root, "etc/environment"), []byte("A=<&>\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := called(t, folder, "fetch", root)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || errs != "" || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit code %d, %q %q, %v", code, out, errs, err)
	}
	for name, want := range map[string]string{"digest": `""`, "root": `"` + root + `"`, "lock": `""`, "env": `["A=\u003c\u0026\u003e"]`, "workdir": `""`, "entrypoint": "[]", "cmd": "[]"} {
		if text, err := json.Marshal(got[name]); err != nil || string(text) != want {
			t.Errorf("%s is %s, %v", name, text, err)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
	if code, out, errs = called(t, folder, "resolve", root); code != 0 || out != root+"\n" {
		t.Errorf("exit code %d, %q %q", code, out, errs)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "images")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"list", 0, ""},
		{"list -o json", 0, ""},
		{"list -o xml", cmdline.ExitUsage, "must be json"},
		{"fetch dockerd://x", cmdline.ExitUsage, "docker save"},
		{"fetch", cmdline.ExitUsage, "one argument"},
		{"resolve UPPER", cmdline.ExitUsage, "write upper"},
		{"fetch /nonexistent/x", cmdline.ExitNotFound, "there is no /nonexistent/x"},
		{"fetch " + text, cmdline.ExitFailure, "archive"},
		{"remove", cmdline.ExitUsage, "at least one"},
		{"remove ubuntu", cmdline.ExitNotFound, "berth image list"},
	} {
		if code, out, errs := called(t, folder, strings.Fields(test.args)...); code != test.code || !strings.Contains(errs, test.says) {
			t.Errorf("%s: exit code %d, %q %q, want %d %q", test.args, code, out, errs, test.code, test.says)
		}
	}
	for kind, code := range map[store.Kind]int{
		store.NotFound: cmdline.ExitNotFound, store.Denied: cmdline.ExitDenied,
		store.Platform: cmdline.ExitFailure, store.BadFile: cmdline.ExitFailure,
		store.BadImage:    cmdline.ExitFailure,
		store.Unreachable: cmdline.ExitUnreachable, store.Busy: cmdline.ExitUnreachable, store.Damaged: cmdline.ExitUnreachable,
		store.Full: cmdline.ExitUnreachable, store.Local: cmdline.ExitUnreachable,
	} {
		err := &store.Error{Kind: kind}
		if got := cmdline.ExitCode(withCode(err)); got != code || err.Later() != (code == cmdline.ExitUnreachable) {
			t.Errorf("kind %d: exit code %d, want %d", kind, got, code)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &progressLines{w: &b, image: "x"}
	for _, now := range []store.Progress{
		{Phase: store.Resolving},
		{Phase: store.Waiting},
		{Phase: store.Waiting},
		{Phase: store.Pulling, Done: 3_100_000_000, Total: 11_300_000_000},
		{Phase: store.Pulling, Done: 7, Total: 12},
		{Phase: store.Unpacking},
		{Phase: store.Unpacking, Done: 1500, Total: 3000},
	} {
		p.show(now)
	}
	want := "image x: waits for another pull\nimage x: 3.1 of 11.3 GB\nimage x: 7 of 12 B\nimage x: unpacking\nimage x: unpacking 1.5 of 3.0 kB\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
