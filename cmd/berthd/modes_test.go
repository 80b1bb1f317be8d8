package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/test/childtest"
	"github.com/berth-gpu/berth/trust"
)

// Servers and agents close a data folder that others could enter, say so, and make files for their
// own account only.
func TestDataFoldersAreClosed(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		args  []string
		ready string
	}{
		"server": {[]string{"server", "--id", "p1", "--listen", address(1), "--http", apiAddress(1), "--bootstrap", "p1=" + address(1)}, leads},
		"agent":  {[]string{"agent", "--node", "n1", "--run-dir", t.TempDir(), "--peers", address(9), "--simulate-gpus", "1"}, "agent started"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		certify(t, dir, map[string]trust.Role{"server": trust.RolePeer, "agent": trust.RoleNode}[name], map[string]string{"server": "p1", "agent": "n1"}[name])
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		c := childtest.Start(t, append(v.args, "--data-dir", dir)...)
		waitAny(t, v.ready, c)
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 || !strings.Contains(strings.Join(c.Lines(), "\n"), "data_folder_closed") {
			t.Errorf("%s: the folder has mode %v, %v; it said %q", name, info.Mode(), err, c.Lines())
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Cmd.Process.Pid))
		if err != nil || !strings.Contains(string(status), "Umask:\t0077\n") {
			t.Errorf("%s: files are made by another mask than 0077: %v", name, err)
		}
	}
}
