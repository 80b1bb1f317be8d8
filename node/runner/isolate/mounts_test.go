package isolate

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Where /proc may not be mounted, jobs start without that, and the host says so.
func TestProcThatMayNotBeMounted(t *testing.T) {
	for err, want := range map[error]bool{
		unix.EINVAL: true, unix.EPERM: true, unix.EACCES: true, unix.ENOMEM: false, unix.ENOTDIR: false,
	} {
		if refused(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	before, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	if err := ShowsOthers(); err != nil && !refused(err) { // as this host has it
		t.Error(err)
	}
	if after, err := os.Readlink("/proc/self/ns/mnt"); err != nil || after != before {
		t.Errorf("this process is in another namespace: %s, %s, %v", before, after, err)
	}
	cmd := exec.Command("/proc/self/exe", "shows") // a user namespace may not mount the /proc of processes that are not its own
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	if got := strings.TrimSpace(string(out)); got != unix.EPERM.Error() {
		t.Errorf("in a user namespace: %q", got)
	}
}
