package certs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/trust"
)

// called runs a command line of this package.
func called(args ...string) (string, error) {
	root := &cobra.Command{Use: "berth", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(OnFolders())
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

func ok(t *testing.T, args ...string) string {
	t.Helper()
	out, err := called(args...)
	if err != nil {
		t.Fatalf("berth %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// founded makes the folder of the first peer of a cluster.
func founded(t *testing.T, data string) {
	t.Helper()
	m, err := trust.Found(trust.Member{Name: "p1", Names: []string{"head.example.org", "10.0.0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Save(filepath.Join(data, trust.Subfolder), m); err != nil {
		t.Fatal(err)
	}
}

// What a certificate says is shown.
func TestShow(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "p1")
	founded(t, data)
	shown := ok(t, "cert", "show", data)
	for _, want := range []string{"peer         p1", "name         10.0.0.1", "name         head.example.org", "(in 89 days)", "can issue    yes", "authority    " + strings.TrimSpace(ok(t, "cert", "pin", data))} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, made := filepath.Join(dir, "p1"), filepath.Join(dir, "new", "gpu1", trust.Subfolder)
	founded(t, first)
	ok(t, "cert", "issue", "node", "gpu1", "--from", first, "--out", made, "--life", "1h")
	shown := ok(t, "cert", "show", filepath.Dir(made))
	if !strings.Contains(shown, "node         gpu1") || !strings.Contains(shown, "can issue    no") || !strings.Contains(shown, "(in 0 days)") {
		t.Errorf("%s", shown)
	}
	if _, err := os.Stat(filepath.Join(made, "authority.key")); err == nil {
		t.Error("a node has the key of the authority")
	}
	if list, err := trust.DecodeCertificates([]byte(ok(t, "cert", "authority", filepath.Dir(made))), 1); err != nil || !list[0].IsCA {
		t.Errorf("the authority is %v, %v", list, err)
	}
	for name, v := range map[string]struct {
		args []string
		says string
	}{
		"a folder in use":  {[]string{"cert", "issue", "peer", "p2", "--from", first, "--out", made}, "belongs to node gpu1"},
		"no authority":     {[]string{"cert", "issue", "peer", "p2", "--from", filepath.Dir(made), "--out", filepath.Join(dir, "x")}, "only peers issue certificates"},
		"no folder":        {[]string{"cert", "issue", "peer", "p2", "--from", filepath.Join(dir, "none"), "--out", filepath.Join(dir, "x")}, "berth init"},
		"another role":     {[]string{"cert", "issue", "admin", "p2", "--from", first, "--out", filepath.Join(dir, "x")}, `no role "admin"`},
		"no name":          {[]string{"cert", "issue", "peer", "", "--from", first, "--out", filepath.Join(dir, "x")}, "is not 1 to 128 bytes of text"},
		"too short a life": {[]string{"cert", "issue", "peer", "p2", "--from", first, "--out", filepath.Join(dir, "x"), "--life", "1s"}, "--life must be"},
		"no --from":        {[]string{"cert", "issue", "peer", "p2", "--out", filepath.Join(dir, "x")}, "--from is missing"},
		"no --out":         {[]string{"cert", "issue", "peer", "p2", "--from", first}, "--out is missing"},
		"nothing to show":  {[]string{"cert", "show", filepath.Join(dir, "none")}, "belongs to no cluster"},
		"a file for --out": {[]string{"cert", "issue", "peer", "p2", "--from", first, "--out", filepath.Join(made, "identity.pem")}, "nothing was changed"},
	} {
		if out, err := called(v.args...); err == nil || !strings.Contains(err.Error(), v.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "x*")); err != nil || len(left) > 0 {
		t.Errorf("refused, and %v was made", left)
	}
}

// Other accounts pass through the folders above a data folder, and do not enter that.
func TestFoldersAboveADataFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	server, agent := filepath.Join(top, "server"), filepath.Join(top, "nodes", "agent")
	founded(t, server)
	ok(t, "cert", "issue", "node", "gpu1", "--from", server, "--out", filepath.Join(agent, trust.Subfolder))
	for path, others := range map[string]bool{filepath.Dir(agent): true, agent: false, filepath.Join(agent, trust.Subfolder): false} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm()&0o005 == 0o005; got != others {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
}
