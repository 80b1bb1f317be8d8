package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root makes a folder that shows itself as a kernel does.
func root(t *testing.T, mountinfo, groups string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "proc/self/mountinfo"), mountinfo)
	write(t, filepath.Join(dir, "proc/self/cgroup"), groups)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	v2Mount    = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	memory     = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	named      = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	beside     = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	container  = "41 31 0:38 /docker/a\\040b /cg rw - cgroup2 cgroup2 rw\n"
	noMountsAt = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\n - \ngarbage\n30 23 0:26 / - cgroup2\n"
)

// Each kind of host is recognized by its mounts.
func TestLook(t *testing.T) {
	for name, c := range map[string]struct{ mounts, groups, kind, own string }{
		"v2":         {v2Mount, "0::/system.slice/berth.service\n", Unified, "sys/fs/cgroup/system.slice/berth.service"},
		"v2, a name": {v2Mount + named, "1:name=systemd:/x\n0::/\n", Unified, "sys/fs/cgroup"},
		"hybrid":     {memory + named + beside, "4:memory:/a\n0::/b\n", Hybrid, "sys/fs/cgroup/unified/b"},
		"v1":         {memory + named, "4:memory:/a\n", Legacy, ""},
		"none":       {noMountsAt, "", None, ""},
		"no member":  {v2Mount, "4:memory:/a\n", Unified, ""},
		"container":  {container, "0::/docker/a b/in\n", Unified, "cg/in"},
		"its top":    {container, "0::/docker/a b\n", Unified, "cg"},
	} {
		dir := root(t, c.mounts, c.groups)
		l, err := Look(dir)
		own := strings.TrimPrefix(strings.TrimPrefix(l.Own, dir), "/")
		if err != nil || l.Kind != c.kind || own != c.own || l.Top != (name == "its top" || name == "v2, a name") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	for _, groups := range []string{"0::/docker/other\n", "0::/../x\n"} {
		if l, err := Look(root(t, container, groups)); err == nil || l.Own != "" || l.Kind != Unified {
			t.Errorf("%q: %+v, %v", groups, l, err)
		}
	}
	if l, err := Look(t.TempDir()); err == nil || l.Kind != None {
		t.Errorf("without /proc: %+v", l)
	}
}
